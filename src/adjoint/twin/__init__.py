"""The twin of a function: its own source, rewritten once, so that what it calls can be something else.

- Entry: `follow`, `policy` (whose code), `twins`.
- From source to source: `source`, `names`, `lists`, `known`, `facts`, `rewrite`, `storing`, `births`.
- What a rewritten function calls: `hooks`, `instances`, `natives`, `operators`, `patterns`.
- Arrays: `fresh`, `structured`, `tables`.
"""
