"""Functions behind layers: convolutions, pooling, other sizes, rarer activations. `nn.functional` names all of them.

In: arrays and settings. Out: arrays.
"""
