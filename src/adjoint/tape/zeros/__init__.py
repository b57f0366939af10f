"""Structural zeros: what a selection left out stays 0 next to an infinity.

In: a backward pass that may meet an infinity. Out: cotangents that know where they were selected.
"""
