"""The twin of a function: its own source, rewritten once, so that what it calls can be something else.

`follow` is the entry, `policy` says whose code is followed, `twins` and `codes` keep what was made. In folders:
`syntax` (from source to source), `runtime` (what a rewritten function calls), `standins` (what is called instead),
`recording` (the twin that a recording runs).
"""
