"""Lowerings: what each elementwise operation is in native code.

In: the name of an operation, its settings, and its arguments as `Value`.
Out: the `Value` of its result (`table.TABLE`).
Nothing here knows arrays or graphs.
"""
