"""Generated Python: straight code for one operation, graph or call, without loops over what is known beforehand."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from adjoint.core.types import Value

if TYPE_CHECKING:
    from types import CodeType


def defined(text: str, title: str, scope: dict[str, Value], name: str) -> Value:
    """What `text` defines as `name`. `scope` holds its free names; tracebacks call its file ``<title>``.

    Nothing of a user's is in the text: values and names of theirs are objects of `scope`.
    """
    scope.setdefault("__name__", __name__)  # the search for the user's line passes over it
    exec(_code(text, f"<{title}>"), scope)
    return scope[name]


# A function that is recorded anew, for other shapes, say, has conditions of the same text.
@lru_cache(maxsize=512)
def _code(text: str, file: str) -> CodeType:
    return compile(text, file, "exec")
