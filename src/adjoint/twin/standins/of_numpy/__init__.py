"""Stand-ins for NumPy's functions, and for methods and attributes of its arrays.

`calls` has the functions with a rule; `joining` makes one array of nested lists. `structured` has arrays with fields,
`iterating` the iterators, `elementwise` functions of single elements, `complex_results` ``numpy.emath``.
"""
