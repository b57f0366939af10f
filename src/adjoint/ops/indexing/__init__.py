"""Reading and writing elements: ``t[index]``, ``t[index] = value``, choosing by masks or by positions.

In: an array and an index. Out: the elements read, or the array after the write. Reading and writing are each other's
transpose.
"""
