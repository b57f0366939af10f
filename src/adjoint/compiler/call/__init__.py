"""A call of a compiled function: which trace holds, and the shortest path into its native code.

- Which trace: `signatures`, `whole_numbers`, `selecting`.
- The fast path: `fast_path` writes it, with `argument_checks` and `write_texts`.
- Calls beside the program: `submitting`. Calls that are not compiled: `uncompiled`.
"""
