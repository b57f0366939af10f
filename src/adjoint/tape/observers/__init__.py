"""What looks at a graph or at a backward pass: hooks, saved values, anomalies, tables, lines of source.

In: nodes, residuals and cotangents as the tape hands them over. Out: the same ones, or what an observer made of them.
"""
