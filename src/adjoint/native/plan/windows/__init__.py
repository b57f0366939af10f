"""Convolutions and pooling.

In: the nodes of convolutions and of pooling.
Out: products over windows of an array, and simpler nodes.
"""
