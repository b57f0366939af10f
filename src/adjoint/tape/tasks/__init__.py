"""Operations as tasks beside the program, and values that are not computed yet.

In: operations on large arrays. Out: tensors; code that reads their values waits for them.
"""
