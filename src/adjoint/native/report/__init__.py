"""Reports: what a program does, for people to read.

In: a program.
Out: its steps as formulas, with bytes, places and lifetimes in memory.
Nothing here changes what runs.
"""
