"""Recording: one run of a function's twin on symbols, kept as a trace.

In: a function, and the arguments of a call. Out: a `Trace`: a graph, its guards, and what is written after each call.
`recorder` runs the twin, `arguments` has the symbols and `outside_state` what is found elsewhere. `tracing` is the
trace, and `joint` its backward pass.
"""
