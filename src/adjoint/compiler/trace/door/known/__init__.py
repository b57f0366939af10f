"""What the door does with calls of known code: Python's functions, and those of libraries.

In: the function and its arguments. Out: its result, or a refusal before anything happened.

- Python: `pythons`, `tools`. Libraries: `libraries` (NumPy and adjoint), `library_calls`.
- What known code gets and gives: `values`, `forms`, `fitting`.
- The user's functions without source, or with a twin for derivatives: `sourceless`, `histories`.
"""
