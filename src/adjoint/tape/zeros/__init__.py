"""Structural zeros: the gradient of left-out values stays 0 next to an infinity.

In: a backward pass that may meet an infinity. Out: cotangents that know where they were selected.
"""
