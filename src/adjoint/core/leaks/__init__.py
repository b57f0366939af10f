"""Values that leave a transform while it runs, and what becomes of them.

In: numbers that Python or C code takes out of a box. Out: nothing if they do not matter; else an error that names the
line where the derivative was lost. `notes` keeps the record, `left` marks the values, `uses` and `syntax` read source.
"""
