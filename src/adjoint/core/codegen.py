"""Python that is written as text: straight code for one operation, graph or call, with no loop over what is known."""

from __future__ import annotations

from typing import Any


def defined(text: str, title: str, scope: dict[str, Any], name: str) -> Any:
    """What `text` defines as `name`. `scope` holds its free names; tracebacks call its file ``<title>``.

    Nothing of a user's is in the text: values and names of theirs are objects of `scope`.
    """
    scope.setdefault("__name__", __name__)  # the search for the user's line passes over it
    exec(compile(text, f"<{title}>", "exec"), scope)
    return scope[name]
