"""IDX, the file format of MNIST.

Two zero bytes, a type code, the number of axes, one big-endian 32-bit length an axis, then the numbers, big-endian
and row by row (Y. LeCun, C. Cortes and C. Burges, *The MNIST database of handwritten digits*).
"""

from __future__ import annotations

import gzip
import zlib
from math import prod
from pathlib import Path

import numpy as np

from adjoint.core.errors import DataError
from adjoint.data.dataset import NDArray

_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"


def contents(path: Path, size: int = -1) -> bytes:
    """The bytes of a file (the first `size` of them), unpacked if it is a gzip file whatever its name."""
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        if not packed:
            return file.read(size)
        try:
            with gzip.open(file) as unpacked:
                return unpacked.read(size)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise DataError(f"{path}: the gzip file is damaged or cut short ({error})") from None


def is_idx(content: bytes) -> bool:
    """Whether these bytes (the first four are enough) begin like an IDX file."""
    return len(content) >= 4 and content[:2] == b"\0\0" and content[2] in _DTYPES and content[3] > 0


def read_idx(path: str | Path) -> NDArray:
    """The array in an IDX file, plain or gzipped.

    Raises:
        DataError: if it is no IDX file, or is cut short.
        OSError: if it cannot be read.

    Example:
        >>> import numpy as np, tempfile, pathlib, adjoint as ad
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "labels"
        ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
        ...     ad.data.read_idx(path)
        array([7, 2, 1], dtype=uint8)
    """
    path = Path(path)
    return parse_idx(contents(path), path)


def parse_idx(content: bytes, path: Path) -> NDArray:
    """The array in the bytes of an IDX file; `path` is for messages."""
    if not is_idx(content):
        raise DataError(f"{path}: not an IDX file: it should begin with two zero bytes and a type code; "
                        f"got {content[:4].hex(' ') or 'an empty file'}")  # fmt: skip
    dtype, axes = np.dtype(_DTYPES[content[2]]), content[3]
    start = 4 + 4 * axes
    shape = tuple(int.from_bytes(content[i : i + 4]) for i in range(4, min(start, len(content) - 3), 4))
    needed = start + prod(shape) * dtype.itemsize
    if len(shape) < axes or len(content) != needed:
        raise DataError(f"{path}: an IDX array of shape {shape} and dtype {dtype.name} takes {needed} bytes; "
                        f"the file holds {len(content)}")  # fmt: skip
    array = np.frombuffer(content, dtype, offset=start).reshape(shape)
    return array.astype(dtype.newbyteorder("="))
