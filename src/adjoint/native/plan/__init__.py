"""Plans: what runs natively, in which kernels, and where each value lies in memory.

In: the nodes of a graph.
Out: a `planner.Plan`: kernels, products and copies in order, with their operands in arguments, results and the arena.
Nothing here runs.

- Which run together: `classify`, `partition`, `fusion`, `order`, `arranging`.
- The plan: `planner`, `steps`, `systems`, `partial_sums`, `recipe` (as plain numbers).
- In folders: rewriting (simpler nodes first), memory, layout, pairs (complex numbers), products, windows, elements,
  loops.
"""
