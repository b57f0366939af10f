"""Loops as one node of a graph.

In: turns of a loop, recorded one by one or found in a graph.
Out: one `Loop` node with a body, and its gradient, which is a loop too.
"""
