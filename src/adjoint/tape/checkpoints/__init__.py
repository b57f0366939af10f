"""Less memory for more time: parts of a program that run again in the backward pass.

In: a function and its arguments. Out: its result, whose graph keeps the arguments and what a policy names, and
computes everything else again.
"""
