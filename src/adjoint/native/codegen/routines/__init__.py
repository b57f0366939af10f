"""Algorithms that are written out as LLVM text, one a file.

In: sizes, strides and dtypes. Out: the text of functions over whole matrices, lines or windows.
"""
