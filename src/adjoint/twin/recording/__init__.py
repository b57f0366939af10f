"""The twin that a recording runs.

In: the syntax tree of a function.
Out: the same tree, in which each read, write, call, operator and test goes through a door.
"""
