"""Simpler nodes, before anything is planned.

- Operations in terms of those that are lowered: `decompose`, `decompositions`; extremes and their places: `extremes`.
- Sums along a short axis, written out: `short_sums`. Values that are computed again instead of being kept: `again`.
"""
