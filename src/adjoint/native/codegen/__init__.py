"""Code: LLVM's text for loops, guards and calls, compiled for this processor and kept on disk.

In: what a kernel computes (`loop_nest.Spec`), as functions of `Value`.
Out: addresses of functions, and Python objects that call them.
Nothing here knows operations, graphs or where a value lies in memory.

- Text: `llvm_text`, `halves`, `layout` (structs), `cpython`, `guards`, `pool_text` (workers).
- From text to addresses: `jit`, `disk_cache`, `machine`.
- In folders: `loops` (kernels), and `routines` (products and systems of matrices, copies that transpose, extremes of
  rows, Fourier transforms, sums of windows).
"""
