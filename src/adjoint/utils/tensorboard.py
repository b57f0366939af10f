"""PyTorch's `torch.utils.tensorboard`: a writer of figures that TensorBoard shows."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Self

from adjoint.core.types import Value
from adjoint.train.tensorboard import TensorBoard


class SummaryWriter:
    """Writes figures into a folder; ``tensorboard --logdir folder`` shows them. Only figures, no pictures.

    Example:
        >>> import os
        >>> from adjoint.utils.tensorboard import SummaryWriter
        >>> with SummaryWriter("curves") as writer:
        ...     writer.add_scalar("loss", 0.5, 1)
        >>> len(os.listdir("curves"))
        1
    """

    def __init__(self, log_dir: str | os.PathLike[str] = "runs") -> None:
        self._board = TensorBoard(log_dir)
        self._board.on_start(None)

    def add_scalar(self, tag: str, scalar_value: Value, global_step: int = 0) -> None:
        """Write one figure."""
        self._board.scalars(int(global_step), {tag: float(scalar_value)})

    def add_scalars(self, main_tag: str, tag_scalar_dict: Mapping[str, Value], global_step: int = 0) -> None:
        """Write several figures, as ``main_tag/name``."""
        figures = {f"{main_tag}/{name}": float(value) for name, value in tag_scalar_dict.items()}
        self._board.scalars(int(global_step), figures)

    def flush(self) -> None:
        """Nothing: each figure is in the file when it was written."""

    def close(self) -> None:
        """Nothing; see `flush`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
