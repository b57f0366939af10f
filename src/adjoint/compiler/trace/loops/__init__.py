"""Loops of the user's, recorded as loops.

In: the turns of a `for` or `while` loop, as the twin runs them.
Out: one `Loop` node, or the turns one by one where they differ.

- The loop itself: `turns`; its turns: `light`, those that end by a value: `ending`, those with a counter: `counted`.
- What turns begin with and give: `carried`, `tails`, `elements`, `writing`.
- Which turns are left out: `settling`, `standing`, `through`, `by_number`, `exploring`.
- Loops within loops: `nested`, `spans`. Paths through a turn: `paths`.
- Whole numbers: `moving`, `reaches`; Python's numbers, and those of two kinds: `kinds`.
"""
