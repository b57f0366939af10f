"""Loops of the user's, recorded as loops.

In: the turns of a `for` or `while` loop, as the twin runs them.
Out: one `Loop` node, or the turns one by one where they differ.

- The loop itself: `turns`; its turns: `light`, those that end by a value: `ending`, those with a counter: `counted`.
- Which turns are left out: `settling`, `through`, `exploring`. Loops within loops: `nested`. Paths: `paths`.
- In folders: `state` (what turns leave for the next), `numbers` (whole numbers that turns go through).
"""
