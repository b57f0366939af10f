"""Methods that only answer: with a truth, an order, a hash, a length, a text. No derivative goes through these.

Python's own code calls them where no twin can stand in for them: ``key in {...}``, a heap of pairs, ``repr([o])``.
There they may take plain numbers, as long as nothing of that is kept.
"""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType, FrameType

from adjoint.core.leaks.texts import written
from adjoint.core.messages.frames import is_of
from adjoint.core.types import Array

_NAMES = ("bool", "len", "length_hint", "hash", "index", "contains", "instancecheck", "subclasscheck", "eq", "ne")
_ANSWERING = {f"__{name}__" for name in (*_NAMES, "lt", "le", "gt", "ge", "str", "repr", "format", "bytes", "dir")}
# Instructions by which a value may outlive the call.
_KEEPING = frozenset(
    dis.opmap[name]
    for name in ("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE", "STORE_GLOBAL", "STORE_DEREF", "YIELD_VALUE")
    if name in dis.opmap
)


def only_answers(asker: FrameType | None, box: Array, call: str, floor: int) -> bool:
    """Whether `call` takes the numbers of `box` for a method that only answers; its texts are noted."""
    while asker is not None and is_of(asker, "adjoint", "numpy"):
        asker = asker.f_back
    while asker is not None and not is_of(asker, "adjoint") and not _keeps(asker.f_code):
        code = asker.f_code
        if code.co_name in _ANSWERING and code.co_argcount and "." in code.co_qualname:
            written(box, call, floor)
            return True
        asker = asker.f_back
    return False


@lru_cache(1024)
def _keeps(code: CodeType) -> bool:
    """Whether `code` may keep a value, or is a twin, which takes none."""
    twin = any(name.startswith("_adj_") for name in code.co_freevars)
    return twin or any(step.opcode in _KEEPING for step in dis.get_instructions(code))
