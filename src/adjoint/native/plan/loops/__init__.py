"""Loops of a graph as native code.

In: `Loop` nodes, and what a turn does. Out: the steps that run all turns in one call.

- A body and its table of addresses: `body`, `steps`; what must hold in each turn: `held`.
- Loops in one function: `registers` (few numbers); of single elements: `structured`, `structured_code`,
  `structured_memory`.
"""
