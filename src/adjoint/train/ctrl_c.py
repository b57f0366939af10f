"""Ctrl-C as a request: the training ends after its present step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from adjoint.core.types import Value


class Asked(Protocol):
    """What can be asked to end."""

    asked: bool


@contextmanager
def ctrl_c(run: Asked) -> Iterator[None]:
    """Ctrl-C asks `run` to end after its step; the second one interrupts, as ever."""

    def ask(number: int, frame: Value) -> None:
        if run.asked:
            signal.default_int_handler(number, frame)
        run.asked = True

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or not usual:  # somebody else listens
        yield
        return
    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
