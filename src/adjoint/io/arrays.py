"""Trees of arrays in safetensors files.

A flat dict of arrays is an ordinary safetensors file, which any tool reads. Anything else (nested dicts and
lists, numbers, texts) also has its structure in the file's metadata, as JSON.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from adjoint.core.errors import ArgumentError, DataError, DTypeError
from adjoint.core.types import Tree, Value

_STRUCTURE = "adjoint.structure"
_ARRAY = "array:"
_ALONE = "array"  # what an array that is saved alone is called
_DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
           "float64")  # fmt: skip


def save(path: str | os.PathLike[str], state: Mapping[str, Value], metadata: Mapping[str, str] | None = None) -> None:
    """Write `state` to the file `path`, all or nothing: a file already there is replaced at the very end.

    Args:
        path: where to; its folder must exist.
        state: arrays or tensors by name, as a module's `state_dict` gives; or nested dicts, lists and tuples of
            arrays, numbers, texts, truth values and None, as an optimiser's gives. Tuples come back as lists.
        metadata: texts to keep in the file beside the arrays.

    Raises:
        DTypeError: if an array has a dtype that safetensors files cannot hold.
        ArgumentError: if something in `state` is neither an array nor JSON, or two names are the same.
        OSError: if the file cannot be written.

    Example:
        >>> import tempfile, os
        >>> import numpy as np
        >>> from adjoint import io
        >>> path = os.path.join(tempfile.mkdtemp(), "weights.safetensors")
        >>> io.save(path, {"w": np.ones(2)})
        >>> io.load(path)
        {'w': array([1., 1.])}
    """
    from safetensors.numpy import save as pack

    arrays: dict[str, np.ndarray] = {}
    structure = _taken_apart(state, "" if isinstance(state, Mapping | list | tuple) else _ALONE, arrays)
    texts = dict(metadata or {})
    flat = isinstance(state, Mapping) and all(f"{_ARRAY}{name}" == value for name, value in structure.items())
    if not flat:
        texts[_STRUCTURE] = json.dumps(structure)
    _write(Path(path), pack(arrays, metadata=texts or None))


def _taken_apart(tree: Tree, path: str, arrays: dict[str, np.ndarray]) -> Value:
    """`tree` with each array put into `arrays`, and its name left in its place."""
    if isinstance(tree, Mapping):
        wrong = [key for key in tree if not isinstance(key, str)]
        if wrong:
            raise ArgumentError(f"save: names must be texts; got {wrong[0]!r}. Write {str(wrong[0])!r}")
        return {key: _taken_apart(value, f"{path}.{key}" if path else key, arrays) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_taken_apart(value, f"{path}.{i}" if path else str(i), arrays) for i, value in enumerate(tree)]
    if isinstance(tree, str):
        return f"text:{tree}"
    if tree is None or (isinstance(tree, bool | int | float) and not isinstance(tree, np.generic)):
        return tree
    values = tree.numpy() if hasattr(tree, "numpy") else tree
    if not isinstance(values, np.ndarray | np.generic):
        raise ArgumentError(
            f"save: {path or 'the state'} is {type(tree).__name__}; arrays, numbers and texts can be kept"
        )
    if values.dtype.name not in _DTYPES:
        raise DTypeError(f"save: {path} has dtype {values.dtype}; safetensors files hold {', '.join(_DTYPES)}")
    if path in arrays:
        raise ArgumentError(f"save: two arrays would both be called {path!r}; rename one")
    # order="C": safetensors writes memory as it lies, so a transposed view would be scrambled.
    arrays[path] = np.array(values, dtype=values.dtype.newbyteorder("="), order="C")
    return f"{_ARRAY}{path}"


def _write(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # mkstemp's files are their owner's alone
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    if hasattr(os, "O_DIRECTORY"):  # the new name too survives a failure of power
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def load(path: str | os.PathLike[str]) -> Value:
    """Read what `save` wrote, or any safetensors file as a flat dict of arrays.

    Args:
        path: the file.

    Returns:
        What was saved: arrays as `numpy.ndarray`, everything else as it was.

    Raises:
        DataError: if the file is not there, or is not a safetensors file that NumPy can read.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.io.save("weights.safetensors", {"w": np.ones(2), "epoch": 3})
        >>> ad.io.load("weights.safetensors")
        {'w': array([1., 1.]), 'epoch': 3}
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise DataError(f"{os.fspath(path)}: there is no such file")
    try:
        with safe_open(path, framework="numpy") as file:
            texts = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        structure = json.loads(texts[_STRUCTURE]) if _STRUCTURE in texts else None
        return arrays if structure is None else _put_together(structure, arrays)
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError) as error:
        raise DataError(f"{os.fspath(path)} is not a safetensors file that can be read: {error}") from error


def _put_together(structure: object, arrays: Mapping[str, np.ndarray]) -> Value:
    if isinstance(structure, dict):
        return {key: _put_together(value, arrays) for key, value in structure.items()}
    if isinstance(structure, list):
        return [_put_together(value, arrays) for value in structure]
    if isinstance(structure, str):
        return (
            arrays[structure.removeprefix(_ARRAY)] if structure.startswith(_ARRAY) else structure.removeprefix("text:")
        )
    return structure
