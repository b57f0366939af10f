"""Elliptic integrals, in Legendre's form and in Carlson's.

In: arrays that broadcast. Out: an array of their common shape. All derivatives are one of Carlson's integrals.
"""
