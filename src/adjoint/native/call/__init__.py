"""Calls: from Python into native code and back.

In: a plan and its compiled functions.
Out: a Python function that checks its arguments, runs native segments and NumPy's steps in turn, and gives results.
"""
