"""Stand-ins for Python's own functions and its library: numbers, mathematics, statistics and texts.

`builtin` has types and functions, `mathematics` ``math`` and ``cmath``, `summaries` ``statistics``. Numbers become
texts in `text` and `sample_texts`; `exits` follows those that are written as bytes or text and read again.
"""
