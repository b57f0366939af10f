"""Other people's objects, and how we look at them without running their code.

`trees` flattens containers, `keys` finds tensors among keys, `plain` turns values into plain data. `looking` reads
attributes, and `foreign` knows subclasses of arrays.
"""
