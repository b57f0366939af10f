"""A scene as SVG."""

from __future__ import annotations

import re
from html import escape

from adjoint.pictures.scene import Rect, Scene, Text, Wire, curves

_FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"


def svg(scene: Scene) -> str:
    """The text of an SVG image, which needs no other file."""
    width, height = f"{scene.width:.0f}", f"{scene.height:.0f}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{escape(_FONT)}">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *map(_drawn, scene.shapes),
        "</svg>",
    ]
    return "\n".join(lines)


# What XML cannot hold: control characters, halves of pairs.
_BARRED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _escaped(text: str) -> str:
    return escape(_BARRED.sub("\ufffd", text))


def _drawn(shape: Rect | Text | Wire) -> str:
    if isinstance(shape, Wire):
        x, y = shape.points[0]
        path = f"M{x:.1f} {y:.1f}" + "".join(_piece(piece) for piece in curves(shape))
        return f'<path d="{path}" fill="none" stroke="{shape.colour}"/>'
    if isinstance(shape, Text):
        anchor = "" if shape.anchor == "start" else f' text-anchor="{shape.anchor}"'
        place = f'x="{shape.x:.1f}" y="{shape.y:.1f}" font-size="{shape.size:g}" fill="{shape.colour}"'
        return f"<text {place}{anchor}>{_escaped(shape.text)}</text>"
    size = f'x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}"'
    dashes = ' stroke-dasharray="3 3"' if shape.dashed else ""
    tip = f"<title>{_escaped(shape.tip)}</title>" if shape.tip else ""
    return f'<rect {size} rx="{shape.radius:g}" fill="{shape.fill}" stroke="{shape.stroke}"{dashes}>{tip}</rect>'


def _piece(points: tuple[tuple[float, float], ...]) -> str:
    kind = "L" if len(points) == 2 else "C"
    return kind + " ".join(f"{x:.1f} {y:.1f}" for x, y in points[1:])
