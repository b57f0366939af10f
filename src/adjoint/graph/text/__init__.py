"""Graphs as text.

- One line a value: `text`. A Python function that needs nothing but NumPy: `source`.
- How each operation is written as NumPy: `numpy_source`.
"""
