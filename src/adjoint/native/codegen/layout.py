"""`StructLayout`: a C struct, described once. Python's words, the offsets in LLVM text and the checks come from it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping

from adjoint.core.types import Value

_TYPES: dict[str, Value] = {
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "ptr": ctypes.c_size_t,
    "double": ctypes.c_double,
}


class StructLayout:
    """The fields of a struct in order, each with its LLVM type, placed as C places them.

    Args:
        name: what LLVM text calls it: ``%(kind.rank)s`` is the offset of the field ``rank`` of ``kind``.
        fields: the type of each.
        base: where the first begins, in bytes from the address that is given.
    """

    def __init__(self, name: str, fields: Mapping[str, str], base: int = 0) -> None:
        self.name, self.fields, self.base = name, dict(fields), base
        members = [(field, _TYPES[kind]) for field, kind in fields.items()]
        self._struct: Value = type(name, (ctypes.Structure,), {"_fields_": members})
        self.offsets: dict[str, int] = {field: base + getattr(self._struct, field).offset for field in fields}
        self.size = ctypes.sizeof(self._struct)

    def words(self, **values: int) -> list[int]:
        """The values of all fields, each of 8 bytes, in order."""
        if values.keys() != self.fields.keys() or self.size != 8 * len(values):
            raise TypeError(f"{self.name} has the fields {', '.join(self.fields)}; got {', '.join(values)}")
        return [values[field] for field in self.fields]

    def number(self, field: str) -> int:
        """Which word a field is."""
        return (self.offsets[field] - self.base) // 8

    def at(self, address: int) -> Value:
        """The struct at an address, with its fields as attributes."""
        return self._struct.from_address(address + self.base)

    @property
    def places(self) -> dict[str, int]:
        """The offset of each field, and the size, by the names that LLVM text has for them."""
        return {f"{self.name}.{field}": offset for field, offset in {**self.offsets, "size": self.size}.items()}

    def read(self, pointer: str) -> str:
        """Lines of LLVM that load every field from `pointer`, as ``%field`` from ``%field.at``."""
        lines = []
        for field, kind in self.fields.items():
            lines.append(f"  %{field}.at = getelementptr i8, ptr {pointer}, i64 {self.offsets[field]}")
            lines.append(f"  %{field} = load {kind}, ptr %{field}.at")
        return "\n".join(lines)
