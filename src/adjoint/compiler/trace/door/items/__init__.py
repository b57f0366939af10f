"""What the door does with containers and their items: read and guarded, gone through, copied, written after the call.

`containers` has items, `keys` those of dictionaries and sets, `trees` what optree flattens, `copies` Python's copies.
`walking` and `iterators` go through them.
"""
