"""Code: LLVM's text for loops, guards and calls, compiled for this processor and kept on disk.

In: what a kernel computes (`loop_nest.Spec`), as functions of `Value`.
Out: addresses of functions, and Python objects that call them.
Nothing here knows operations, graphs or where a value lies in memory.
"""
