"""A measured run as a picture: a row a worker, a box a task, as wide as its time."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from adjoint.pictures.layout import SMALL
from adjoint.pictures.plan import COLOURS
from adjoint.pictures.scene import INK, MARGIN, PALE, Rect, Scene, Text, Wire

if TYPE_CHECKING:
    from adjoint.native.report.schedule import RunSchedule

WIDTH, ROW, NAMES, TICKS = 900.0, 34.0, 110.0, 10
HOW_TO_READ = "Each row is a worker, and each box a task: a step of the plan, by its number, or a part of one."
_KINDS = {"product": "product", "BLAS": "product", "check": "copy"}


def schedule_scene(schedule: RunSchedule, title: str) -> Scene:
    """Lay a run out."""
    shapes: list[Rect | Text | Wire] = [Text(MARGIN, MARGIN + 12, title, 13, INK)]
    said = f"{schedule.time:.0f} µs in the shortest of several runs, on arrays made up for it. {HOW_TO_READ}"
    y = MARGIN + 32
    for line in wrap(said, int((NAMES + WIDTH) / SMALL)):
        shapes.append(Text(MARGIN, y, line, 11, PALE))
        y += 16
    left, top = MARGIN + NAMES, y + 6
    bottom = top + ROW * (schedule.workers + 1)
    scale = WIDTH / max(schedule.time, 1e-9)
    step = _tick(schedule.time)
    for k in range(int(schedule.time / step) + 1):
        x = left + k * step * scale
        shapes.append(Wire(((x, top), (x, bottom)), "#d0d7de"))
        shapes.append(Text(x, bottom + 14, f"{k * step:g} µs", 11, PALE, "middle"))
    for worker in range(schedule.workers + 1):
        name = f"worker {worker}" if worker else "the caller"
        middle = top + ROW * worker + ROW / 2
        shapes.append(Text(MARGIN, middle - 1, name, 11, INK))
        shapes.append(Text(MARGIN, middle + 12, f"busy {schedule.busy(worker):.0%}", 10, PALE))
    for box in schedule.boxes:
        fill, stroke, _ = COLOURS[_KINDS.get(box.by, "reduction" if "reduce" in box.label else "elementwise")]
        x, wide = left + box.begun * scale, max((box.over - box.begun) * scale, 0.5)
        y = top + ROW * box.worker + 4
        tip = f"step {box.step}: {box.label}\n{box.over - box.begun:.1f} µs, from {box.begun:.1f} on"
        shapes.append(Rect(x, y, wide, ROW - 8, fill, stroke, tip=tip, radius=min(2.0, wide / 2)))
        text = f"{box.step} {box.label}"
        room = int((wide - 4) / SMALL)
        text = text if len(text) <= room else f"{text[: room - 1]}…" if room > 8 else str(box.step)
        if len(text) <= room:
            shapes.append(Text(x + wide / 2, y + (ROW - 8) / 2 + 4, text, 10, INK, "middle"))
    return Scene(left + WIDTH + MARGIN, bottom + 20 + MARGIN, shapes)


def _tick(time: float) -> float:
    """A round number of microseconds, so that there are about ten in `time`."""
    sizes = (digit * 10.0**power for power in range(12) for digit in (1, 2, 5))
    return next(step for step in sizes if time <= TICKS * step)
