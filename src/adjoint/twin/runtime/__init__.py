"""What a rewritten function calls while it runs.

In: what the function was about to call, read or make. Out: the same, or its twin or stand-in, if histories ask for it.

- Calls: `hooks`, `instances` (classes), `natives` (builtins that run methods), `containers` (their methods), `copying`.
- Syntax: `protocols` (loops, tests, items, ``with``), `operators`, `patterns` (of ``match``).
- Arrays: `fresh` (made able to hold tensors), `tables` (indexed by what differs between samples).
"""
