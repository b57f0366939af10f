"""Losses: from what a model said and what it should have said to a number.

In: arrays, and how to reduce. Out: a number, or one for each sample. `nn.functional` names all of them.
"""
