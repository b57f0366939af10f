"""Loops of the user's, recorded as loops.

In: the turns of a `for` or `while` loop, as the twin runs them.
Out: one `Loop` node, or the turns one by one where they differ.
"""
