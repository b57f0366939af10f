"""Plans: what runs natively, in which kernels, and where each value lies in memory.

In: the nodes of a graph.
Out: a `planner.Plan`: kernels, products and copies in order, with their operands in arguments, results and the arena.
Nothing here runs.
"""
