"""All objects that the collector of garbage knows, with those that it passes over in a run of the tests."""

from __future__ import annotations

import gc


def living() -> list[object]:
    """As `gc.get_objects`, and what was frozen, which that does not name."""
    if not gc.get_freeze_count():
        return gc.get_objects()
    gc.unfreeze()
    try:
        return gc.get_objects()
    finally:
        gc.freeze()
