"""Where the elements of arrays lie.

In: views, indices, joins and writes to regions.
Out: offsets and strides into memory, and the steps that put arrays together.
"""
