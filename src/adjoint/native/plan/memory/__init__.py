"""Where the values of a plan lie.

- In one arena, whose places are used again: `arena`. Added up in memory, row after row: `adding`.
- In arguments that the program writes: `arguments`.
"""
