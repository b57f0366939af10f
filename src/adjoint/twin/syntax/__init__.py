"""From a function's source to its twin's: read, looked through, and rewritten.

In: a function. Out: a tree in which what may matter goes through a hook, or none if nothing matters.

- From a function to its tree and back: `source`.
- What the tree shows: `names`, `known` (what names mean), `lists`, `births` (arrays that are written into), `facts`.
- The rewriting: `rewrite`, `storing`.
- Whether a function writes into arrays: `reading`, by what its source `uses`.
"""
