"""Losses: from a model's answers and the right answers to a number.

In: arrays, and how to reduce. Out: a number, or one for each sample. `nn.functional` names all of them.
"""
