"""`TensorBoard`: the figures of a training as TensorBoard reads them. Nothing has to be installed to write them.

An events file is a sequence of records, each a protocol buffer `Event` between its length and checksums
(tensorflow/core/util/event.proto; `TFRecord` is described at tensorflow.org/tutorials/load_data/tfrecord).
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Mapping
from pathlib import Path

from adjoint.core.types import Array
from adjoint.train.history import Callback, History, Step

_POLYNOMIAL = 0x82F63B78  # of CRC-32C (Castagnoli), its bits reversed


class TensorBoard(Callback):
    """Writes the loss and the metrics of steps and epochs into a folder; ``tensorboard --logdir folder`` shows them.

    Args:
        folder: where to; each start of a run adds a file.
        every: steps from one point of the curves "step/…" to the next; those of the epochs are "epoch/…".

    Example:
        >>> import numpy as np, adjoint as ad
        >>> data = (np.zeros((8, 2)), np.zeros((8, 1)))
        >>> _ = ad.train.fit(ad.nn.Linear(2, 1), data, epochs=1, callbacks=[ad.train.TensorBoard("logs")])
        >>> import os
        >>> len(os.listdir("logs"))
        1
    """

    def __init__(self, folder: str | os.PathLike[str], every: int = 10) -> None:
        self._folder, self._every = Path(folder), every
        self._path: Path | None = None

    def on_start(self, history: History | None) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}"
        self._path = self._folder / name
        self._write(0, b"\x1a" + _sized(b"brain.Event:2"))  # field 3: the version of the format

    def on_step(self, step: Step) -> None:
        if step.done % self._every == 0:
            self.scalars(step.done, {f"step/{name}": value for name, value in step.figures.items()})

    def on_epoch(self, history: History) -> None:
        last = history.epochs[-1]
        figures = {**last.figures, "learning_rate": last.learning_rate}
        self.scalars(last.number, {f"epoch/{name}": value for name, value in figures.items()})

    def scalars(self, step: int, figures: Mapping[str, float]) -> None:
        """Write `figures` by their names, at `step`."""
        values = b""
        for name, value in figures.items():  # Summary.value: a tag (field 1) and a simple_value (field 2)
            values += b"\x0a" + _sized(b"\x0a" + _sized(name.encode()) + b"\x15" + struct.pack("<f", value))
        self._write(step, b"\x2a" + _sized(values))  # field 5: a summary

    def _write(self, step: int, content: bytes) -> None:
        assert self._path is not None
        event = b"\x09" + struct.pack("<d", time.time()) + b"\x10" + _varint(step) + content
        length = struct.pack("<Q", len(event))
        with self._path.open("ab") as file:
            file.write(length + _checksum(length) + event + _checksum(event))


def _varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


def _table() -> tuple[int, ...]:
    rows: list[Array] = list(range(256))
    for _ in range(8):
        rows = [row >> 1 ^ (_POLYNOMIAL if row & 1 else 0) for row in rows]
    return tuple(rows)


_TABLE = _table()


def _checksum(content: bytes) -> bytes:
    """CRC-32C, turned and moved as TFRecord has it."""
    crc = 0xFFFFFFFF
    for byte in content:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)
