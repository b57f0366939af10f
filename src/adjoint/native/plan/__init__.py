"""Plans: what runs natively, in which kernels, and where each value lies in memory.

In: the nodes of a graph.
Out: a `planner.Plan`: kernels, products and copies in order, with their operands in arguments, results and the arena.
Nothing here runs.

- Simpler nodes: `decompose`, `decompositions`, `short_sums`, `partial_sums`, `extremes`, `again`.
- Which run together: `classify`, `partition`, `fusion`, `order`, `arranging`.
- The plan: `planner`, `steps`, `arguments`, `adding`, `systems`, `arena` (memory), `recipe` (as plain numbers).
- In folders: layout, pairs (complex numbers), products, windows, elements, loops.
"""
