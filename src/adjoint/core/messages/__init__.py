"""What errors say.

In: a call that NumPy or adjoint refuses. Out: the text of the error: the user's line, and the call that works.
"""
