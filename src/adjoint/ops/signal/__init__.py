"""Functions sampled along an axis: Fourier transforms, convolutions, polynomials, differences and integrals.

In: arrays whose last or named axis is the sampled one. Out: arrays along that axis, of the same or another length.
"""
