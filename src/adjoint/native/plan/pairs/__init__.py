"""Complex numbers as pairs of real ones: before anything is planned, each becomes two values.

So kernels, products, sums, views, assemblies and loops take complex numbers without knowing of them.
"""
