"""A write as the text of a function that is generated: the statement, and what `commit` takes."""

from __future__ import annotations

from typing import NamedTuple

from adjoint.core.types import Value


class WriteText(NamedTuple):
    """A write, as texts: which kind, into what, where there, and what."""

    function: str
    holder: str
    key: Value
    value: str

    def statement(self) -> str:
        """The line that writes."""
        if self.function == "setattr":
            return f"{self.holder}.{self.key} = {self.value}"
        return f"{self.holder}[{'...' if self.key is Ellipsis else repr(self.key)}] = {self.value}"

    def action(self, key: str) -> str:
        """The expression for what `commit` takes, with the name of the key."""
        return f"({self.function}, {self.holder}, {key}, {self.value})"
