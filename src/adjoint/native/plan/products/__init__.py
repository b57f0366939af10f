"""Products of matrices.

In: the nodes of products, with the elementwise nodes that read them.
Out: steps of tiles or of BLAS, or sums that kernels compute.
"""
