"""Loops as LLVM text: the nest of one kernel, and tables of steps that run many times.

In: what a kernel computes (`loop_nest`). Out: text that reads its arrays, computes, and stores or sums up.

- The nest: `kernels`, `nests`, `reducing` (sums), `light` (what it costs).
- Its arrays: `memory`, `columns`, `edges` (vectors that are not whole), `masked` (how these are read).
- Loops over turns: `turns`.
"""
