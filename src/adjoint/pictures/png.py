"""A scene as PNG, drawn by Matplotlib."""

from __future__ import annotations

import io

from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Value
from adjoint.pictures.scene import Rect, Scene, Text, Wire, curves

_DOTS = 96.0  # units of a scene in an inch, as in a browser


def png(scene: Scene, scale: float = 2.0) -> bytes:
    """The bytes of a PNG image, with `scale` pixels to a unit of the scene.

    Raises:
        NotSupportedError: without Matplotlib.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.patches import FancyBboxPatch, PathPatch
        from matplotlib.path import Path
    except ImportError as error:
        raise NotSupportedError(
            "PNG is drawn by Matplotlib, which is not installed: pip install 'adjoint[plot]'; .svg needs nothing"
        ) from error
    scale = min(scale, 30000 / max(scene.width, scene.height))
    figure: Value = Figure((scene.width / _DOTS, scene.height / _DOTS), dpi=_DOTS * scale)
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, scene.width)
    axes.set_ylim(scene.height, 0)
    axes.set_axis_off()
    for shape in scene.shapes:
        if isinstance(shape, Wire):
            points, codes = [shape.points[0]], [Path.MOVETO]
            for piece in curves(shape):
                points += piece[1:]
                codes += [Path.LINETO] if len(piece) == 2 else [Path.CURVE4] * 3
            axes.add_patch(PathPatch(Path(points, codes), fill=False, edgecolor=shape.colour, linewidth=0.75))
        elif isinstance(shape, Text):
            where = {"start": "left", "middle": "center"}[shape.anchor]
            axes.text(
                shape.x, shape.y, shape.text, fontsize=shape.size * 72 / _DOTS, color=shape.colour, ha=where,
                va="baseline", family="DejaVu Sans Mono", parse_math=False,
            )  # fmt: skip
        elif isinstance(shape, Rect):
            axes.add_patch(
                FancyBboxPatch(
                    (shape.x, shape.y), shape.width, shape.height,
                    boxstyle=f"round,pad=0,rounding_size={shape.radius}",
                    facecolor=shape.fill, edgecolor=shape.stroke, linewidth=0.75,
                    linestyle=(0, (4, 4)) if shape.dashed else "solid",
                )
            )  # fmt: skip
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=_DOTS * scale, facecolor="white")
    return file.getvalue()
