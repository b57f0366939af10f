"""The twin of a function: its own source, rewritten once, so that what it calls can be something else.

- Entry: `follow`, `policy` (whose code), `twins`, `codes`.
- From source to source: `source`, `names`, `lists`, `known`, `facts`, `rewrite`, `storing`, `births`.
- Whether a function writes into arrays: `reading`, by what its source `uses`.
- What a rewritten function calls: `hooks`, `instances`, `natives`, `operators`, `patterns`.
- Arrays: `fresh`, `tables`.
"""
