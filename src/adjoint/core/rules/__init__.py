"""Gradient rules as functions: one pullback for each operation, and cotangents that are not written out.

In: the rules of an `Op`, and which inputs need a gradient. Out: a function from a cotangent to those of the inputs.
`pullbacks` writes it, `cotangents` adds up what it gives, `choosing` helps the rules of selections.
"""
