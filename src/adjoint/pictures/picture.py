"""`show`: a loss, a graph, an expression or a function as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adjoint.compiler.capture import capture
from adjoint.core.errors import ArgumentError
from adjoint.core.types import Value
from adjoint.graph.graph import Graph
from adjoint.graph.node import variable
from adjoint.pictures import fold as folding
from adjoint.pictures.diagram import Diagram
from adjoint.pictures.dot import dot
from adjoint.pictures.from_graph import diagram_of_graph
from adjoint.pictures.from_tape import diagram_of_tape
from adjoint.pictures.plan import plan_scene
from adjoint.pictures.png import png
from adjoint.pictures.scene import Scene, scene
from adjoint.pictures.schedule import schedule_scene
from adjoint.pictures.svg import svg
from adjoint.pictures.tree import text
from adjoint.tape.tensor import Tensor

if TYPE_CHECKING:
    from adjoint.native.report.listing import Listing
    from adjoint.native.report.schedule import RunSchedule

FORMATS = {"svg": ".svg", "png": ".png", "dot": ".dot", "text": ".txt"}


class Picture:
    """What `show` gives: ``print(picture)`` is its text, a notebook draws it, `save` writes it.

    Attributes:
        diagram: the vertices, and notes.
        text: a tree from the result to the inputs.
        dot: for Graphviz.
        svg: an image as text.
    """

    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram

    @cached_property
    def text(self) -> str:
        return text(self.diagram)

    @cached_property
    def dot(self) -> str:
        return dot(self.diagram)

    @cached_property
    def scene(self) -> Scene:
        """Rectangles, texts and wires with their places."""
        return scene(self.diagram)

    @cached_property
    def svg(self) -> str:
        return svg(self.scene)

    @property
    def png(self) -> bytes:
        """An image as bytes, drawn by Matplotlib."""
        return png(self.scene)

    def save(self, path: str | Path, format: str | None = None) -> None:
        """Write the picture into a file, in the format that its ending says.

        Raises:
            ArgumentError: for a format that there is none of.
        """
        path = Path(path)
        kind = format or next((name for name, ending in FORMATS.items() if ending == path.suffix.lower()), None)
        if kind not in FORMATS:
            raise ArgumentError(
                f"show() writes {', '.join(FORMATS.values())}; got {path.name!r}"
                + (f" and format={format!r}" if format else "")
                + f'. Give the file one of these endings, or say format="svg" ({", ".join(FORMATS)})'
            )
        if kind == "png":
            path.write_bytes(self.png)
        else:
            path.write_text(getattr(self, kind) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<picture of {self.diagram.title}: {len(self.diagram.vertices)} vertices>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return f'<div style="overflow:auto; max-height:80vh">{self.svg}</div>'


class PlanPicture(Picture):
    """What `show` gives of a compiled program: its plan. A notebook shows its circuit too; `dot` is of that.

    Attributes:
        listing: the plan, with all figures.
        circuit: the picture of the graph.
    """

    def __init__(self, listing: Listing, circuit: Picture, limit: int) -> None:
        super().__init__(circuit.diagram)
        self.listing, self.circuit, self.limit = listing, circuit, limit

    @cached_property
    def text(self) -> str:
        return f"{self.diagram.title}\n{self.listing}"

    @cached_property
    def scene(self) -> Scene:
        return plan_scene(self.listing, self.diagram.title, self.limit)

    def __repr__(self) -> str:
        return f"<picture of the plan of {self.diagram.title}: {len(self.listing.rows)} steps>"

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}{_folded('the program as a circuit', self.circuit._repr_html_())}"


class SchedulePicture(Picture):
    """What ``show(f, "schedule")`` gives of a compiled function: a measured run, a row a worker, a box a task.

    Attributes:
        schedule: the boxes, with their times.
    """

    def __init__(self, schedule: RunSchedule, title: str) -> None:
        super().__init__(Diagram(title, {}, []))
        self.schedule = schedule

    @cached_property
    def text(self) -> str:
        return f"{self.diagram.title}\n{self.schedule}"

    @cached_property
    def scene(self) -> Scene:
        return schedule_scene(self.schedule, self.diagram.title)

    def __repr__(self) -> str:
        return f"<picture of a run of {self.diagram.title}: {len(self.schedule.boxes)} tasks>"


def show(
    x: Value,
    path: str | Path | None = None,
    format: str | None = None,
    *,
    at: Sequence[object] | Mapping[str, object] | None = None,
    names: dict[str, object] | None = None,
    gradient: object = None,
    fold: bool = True,
    limit: int = 400,
) -> Picture:
    """Draw a circuit: operations, and on their wires values and cotangents.

    Args:
        x: a tensor with a graph, such as a loss; a `Graph`; an expression; a compiled function, of which the plan is
            drawn; or another function, with `at`.
        path: where to write the picture: ``.svg``, ``.png`` (by Matplotlib), ``.dot`` or ``.txt``. Of a compiled
            function, ``"schedule"`` draws a measured run of its native code: a row a worker, a box a task.
        format: ``"svg"``, ``"png"``, ``"dot"`` or ``"text"``, where the path does not say.
        at: arguments at which a graph, an expression or a function is evaluated, forward and backward; by name, for
            an expression.
        names: of a tensor's leaves: a dictionary of tensors, or a module, whose parameters have names.
        gradient: the cotangent to start from; 1 for a result that is one number.
        fold: show repeated blocks once, and chains of elementwise operations as one, in long graphs.
        limit: how many vertices are shown at most; the rest is said to be left out.

    Returns:
        A `Picture`, with ``.text``, ``.dot``, ``.svg`` and ``.save(path)``; ``print`` it, or let a notebook draw it.

    The tape keeps only what gradient rules need: a tensor's values are shown where it does. Cotangents come from a
    backward pass that changes no ``grad``.

    Raises:
        ArgumentError: if there is nothing to draw in `x`, or for an ending that there is no format for.
        GradientError: for a tensor without a graph.
        NotSupportedError: for PNG without Matplotlib.

    Example:
        >>> import adjoint as ad
        >>> x, y = ad.tensor(3.0, requires_grad=True), ad.tensor(-4.0, requires_grad=True)
        >>> print(ad.show(x * y + x, names={"x": x, "y": y}))
        loss   holds    value  cotangent
        +      float64  -9     1
        ├─ ×   float64         1
        │  ├─ x  float64  3    -3
        │  └─ y  float64  -4   3
        └─ x
    """
    compiled = hasattr(type(x), "explain") and at is None  # a compiled function, whose room is above
    if compiled and path == "schedule":
        return SchedulePicture(x.schedule(), x.graph.name)
    diagram = _diagram(x.graph if compiled else x, at, names, gradient)
    if fold:
        folding.fold(diagram)
    folding.cut(diagram, limit)
    picture = Picture(diagram)
    if compiled:
        if x.plan is None:
            diagram.notes.insert(0, "there is no plan: it is run by NumPy, or native code is still being made")
        else:
            picture = PlanPicture(x.plan, picture, limit)
    if path is not None:
        picture.save(path, format)
    return picture


def _diagram(x: Graph | Tensor, at: Value, names: Value, gradient: object) -> Diagram:
    if isinstance(x, Tensor):
        named = dict(names.named_parameters()) if hasattr(names, "named_parameters") else dict(names or {})
        return diagram_of_tape(x, named, gradient)
    if hasattr(x, "roots") and hasattr(x, "variables"):  # an expression, whose room is above
        x, at = _of_expression(x, at)
    if isinstance(x, Graph):
        return diagram_of_graph(x, None if at is None else given_to(x, at))
    if callable(x) and at is not None:
        if not isinstance(at, Sequence | np.ndarray):
            raise ArgumentError(
                f"at= is the function's arguments, as in ad.show(f, at=(2.0, 3.0)); got {type(at).__name__}"
            )
        return diagram_of_graph(graph := capture(x, *at), given_to(graph, list(at)))
    raise ArgumentError(
        f"show() draws a tensor with a graph, a Graph, an expression, a compiled function, or a function at its "
        f"arguments (ad.show(f, at=(2.0, 3.0))); got {type(x).__name__}"
    )


def _of_expression(x: Value, at: object) -> tuple[Graph, object]:
    graph = Graph([variable(name) for name in x.variables], x.roots, name="expression")
    if isinstance(at, Mapping):
        missing, unknown = [k for k in x.variables if k not in at], [k for k in at if k not in x.variables]
        if missing or unknown:
            raise ArgumentError(
                f"at= {'lacks a value for ' + ', '.join(missing) if missing else 'names ' + ', '.join(unknown)}; the "
                f"variables of the expression are {', '.join(x.variables)}"
            )
        at = [at[name] for name in x.variables]
    elif at is not None and (not isinstance(at, Sequence | np.ndarray) or len(at) != len(x.variables)):
        raise ArgumentError(
            f"at= has one value a variable, by name or in order; the variables are {', '.join(x.variables)}"
        )
    if at is not None:  # in a formula, 2 is as good as 2.0
        at = [value.astype(float) if (value := np.asarray(v)).dtype.kind in "iub" else v for v in at]
    return graph, at


def given_to(graph: Graph, at: Sequence[object]) -> list[object]:
    """One value an input of `graph`, from the arguments of a call and the state."""
    given = graph._takes(*at) if graph._takes else list(at)
    return given if graph.state is None else given + graph.state.read()


def page(graph: Graph) -> str:
    """What a notebook shows of a graph: its listing and its picture."""
    return f"<pre>{escape(str(graph))}</pre>{show(graph)._repr_html_()}"


def compiled_page(compiled: Value) -> str:
    """What a notebook shows of a compiled function: what it says of itself, its plan and its circuit."""
    said = f"<pre>{escape(str(compiled.explain()))}</pre>"
    try:
        picture = show(compiled)
    except ArgumentError:  # it has not been called, or runs as it is
        return said
    return f"{picture._repr_html_()}{_folded('what explain() says', said)}"


def _folded(title: str, content: str) -> str:
    """Something that is seen after a click."""
    return f"<details><summary>{escape(title)}</summary>{content}</details>"
