"""Classes of arrays that carry a history: what tensors, duals, batches and symbols have in common.

In: operations.
Out: base classes with NumPy's methods, attributes and operators, writing in place, and a fast path for common calls.
"""
