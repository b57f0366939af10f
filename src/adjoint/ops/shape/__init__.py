"""Elements moved, repeated, copied, joined or padded. Nothing is computed.

In: arrays. Out: their elements in another arrangement, often a view. All of it is linear; each operation states its
transpose.
"""
