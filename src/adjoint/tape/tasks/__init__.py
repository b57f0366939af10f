"""Operations as tasks beside the program, and values that are on their way.

In: operations on large arrays. Out: tensors whose values are waited for when somebody looks at them.
"""
