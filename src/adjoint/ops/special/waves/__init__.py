"""Bessel functions, and other solutions of wave equations.

In: an order and a place. Out: an array of their common shape. Derivatives by the place are functions of other orders.
"""
