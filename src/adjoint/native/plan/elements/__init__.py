"""Arrays of many rows and short axes, computed element by element.

In: the nodes of a program.
Out: nodes of one value a row, and where kernels write these.
"""
