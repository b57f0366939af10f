"""The body of a loop, made of the calls of one turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.registry import op_named
from adjoint.core.types import Index, Value
from adjoint.graph.graph import Graph
from adjoint.graph.loops.loop import BufferWindow, Loop, Window
from adjoint.graph.loops.row import filled
from adjoint.graph.loops.turns import Carried, EarlierValue, Fixed, Listed, Local, Source, TurnRange
from adjoint.graph.node import Node, call, constant, placeholder
from adjoint.graph.python_numbers import as_python, is_number
from adjoint.graph.rewriting.driver import made_call, with_args

if TYPE_CHECKING:
    from adjoint.graph.loops.roll import Roller


class RollingError(Exception):
    """The reason why turns that repeat cannot be a loop."""


class ApartError(RollingError):
    """In some `turns` a body would write what it reads elsewhere; the others may be loops."""

    def __init__(self, turns: np.ndarray) -> None:
        super().__init__("a turn reads and writes parts of an array that overlap")
        self.turns = turns


class Addend:
    """A value that is added to a buffer, at a window, by the next call."""

    def __init__(self, value: Node, window: Window, within: Value) -> None:
        self.value, self.window, self.within = value, window, within


class Version:
    """A buffer as it is after some writes: what the windows hold that were written in this turn."""

    def __init__(self, buffer: Buffer, held: dict[Window, Node]) -> None:
        self.buffer, self.held = buffer, held

    def read(self, window: Window) -> Node:
        """The present content of the window."""
        return self.held[window] if window in self.held else self.buffer.shown(window)

    def written(self, window: Window, value: Node) -> Version:
        """The buffer after one more write."""
        self.buffer.shown(window)
        return Version(self.buffer, {**self.held, window: value})


class Buffer:
    """An array that is carried, of which each turn reads and writes a few rows."""

    def __init__(self, first: Node, count: int) -> None:
        self.first, self.count, self.windows = first, count, dict[Window, Node]()
        self.adds = self.overwrites = False

    def shown(self, window: Window) -> Node:
        """The input of the body that is a window as it is when the turn begins."""
        if window not in self.windows:
            for other in self.windows:
                if (turns := window.meets(other, self.count)).size:
                    raise ApartError(turns)
            self.windows[window] = placeholder("row", window.shape(self.first.shape), self.first.dtype)
        return self.windows[window]


Made = Node | Version | Addend


class Body:
    """The body of `turns`.

    Attributes:
        loop: what comes of it.
        args: what the loop is called with.
        results: what each of the loop's results is, by its number: the last or all values of a call.
        text: what flows in and out, in words.
    """

    def __init__(self, roller: Roller, turns: TurnRange, stacked: list[int], last: list[int]) -> None:
        self.roller, self.turns = roller, turns
        self.calls = roller.row.calls[turns.start : turns.start + turns.period]
        self._carried: dict[tuple[int, tuple[int, ...]], Node] = {}
        self._buffers: dict[int, Buffer] = {}
        self._slices: dict[tuple[Node, Window], Node] = {}
        self._fixed: dict[Node, Node] = {}
        self._made: list[Made] = []
        self._growing: set[int] = set()  # calls that give an array which is written by turn
        self._addends: set[int] = set()  # calls whose values these add
        for sources in self.turns.sources:
            for source in sources:
                if isinstance(source, Carried) and source.j not in self._growing:
                    self._chain(source.j)
        for j, node in enumerate(self.calls):
            self._made.append(self._call(j, node))
        self._finish(stacked, last)

    # -- Arguments ----------------------------------------------------------------------------------------

    def _moves(self, j: int) -> bool:
        return any(by for _, by in self.turns.numbers[j])

    def _chain(self, last: int) -> None:
        """Find the writes from an array as it was before the turn to call `last`, if some of them go by turn."""
        j, chain, addends, moves = last, list[int](), list[int](), False
        while True:
            op, sources = self.calls[j].op, self.turns.sources[j]
            if op is None or op.name not in ("add", "overwrite"):
                return
            chain.append(j)
            base = sources[1]
            if op.name == "add":
                found = [k for k in (0, 1) if isinstance(sources[k], Local) and self._scatters(sources[k])]
                if not found:
                    return
                addend, base = sources[found[-1]], sources[1 - found[-1]]
                assert isinstance(addend, Local)
                addends.append(addend.j)
                moves |= self._moves(addend.j)
            moves |= self._moves(j)
            if isinstance(base, Carried):
                if base.j == last and moves:
                    self._growing |= {*chain}
                    self._addends |= {*addends}
                return
            if not isinstance(base, Local):
                return
            j = base.j

    def _scatters(self, source: Source) -> bool:
        op = self.calls[source.j].op if isinstance(source, Local) else None
        return op is not None and op.name == "scatter_add"

    def _given(self, source: Source) -> Made:
        if isinstance(source, Local):
            return self._made[source.j]
        if isinstance(source, Carried):
            return self._from_before(source)
        if isinstance(source, Fixed):
            return self._same(self.roller.value(source.at))
        if isinstance(source, EarlierValue):
            stack = self.roller.stack(source.loop, source.j)
            like = self.roller.row.calls[self.roller.loops[source.loop].start + source.j]
            return self._sliced(stack, Window(source.start, source.step), like)
        return self._listed(source)

    def _from_before(self, source: Carried) -> Made:
        j = source.j
        if j in self._growing:
            first = self.roller.value(source.first[0])
            if len(source.first) > 1 or self._buffers.setdefault(j, Buffer(first, self.turns.times)).first is not first:
                raise RollingError("an array that is written by turn is used as it was before")
            return Version(self._buffers[j], {})
        for k in range(len(source.first)):
            key = j, source.first[len(source.first) - 1 - k :]
            if key not in self._carried:
                made = self.calls[j]
                self._carried[key] = placeholder("carried", made.shape, made.dtype, is_number(made))
        return self._carried[j, source.first]

    def _same(self, node: Node) -> Node:
        if node.kind == "constant":
            return node
        if node not in self._fixed:
            self._fixed[node] = placeholder("fixed", node.shape, node.dtype, is_number(node))
        return self._fixed[node]

    def _sliced(self, array: Node, window: Window, like: Node | None = None) -> Node:
        """A window of an array that is read by turn; one of Python's numbers, if `like` is one."""
        if (array, window) not in self._slices:
            self._slices[array, window] = placeholder("slice", window.shape(array.shape), array.dtype)
        made = self._slices[array, window]
        return call(as_python, (made,), {}, (), made.dtype) if like is not None and is_number(like) else made

    def _listed(self, source: Listed) -> Node:
        like, table = self.roller.row.node(source.at[0]), self.roller.table(source.at)
        if (table.dtype, table.shape[1:]) != (like.dtype, like.shape):
            raise RollingError("its values are of several kinds")
        return self._sliced(table, Window(0, 1), like)

    # -- Calls ----------------------------------------------------------------------------------------------

    def _call(self, j: int, node: Node) -> Made:
        args = [self._given(source) for source in self.turns.sources[j]]
        name = None if node.op is None else node.op.name
        if name == "getitem" and (self._moves(j) or isinstance(args[0], Version)):
            return self._read(j, node, args[0])
        if j in self._addends and isinstance(args[0], Node):
            window, within = self._window(j, node, node.shape)
            return Addend(args[0], window, within)
        if name == "overwrite" and isinstance(args[0], Node) and isinstance(args[1], Version):
            return self._write(j, node, args[0], args[1])
        if name == "add" and any(isinstance(arg, Addend) for arg in args):
            return self._add(args)
        if self._moves(j):
            raise RollingError("it writes by turn into an array that is made in the same turn")
        nodes = [arg for arg in args if isinstance(arg, Node)]
        if len(nodes) < len(args):
            raise RollingError("an array that is written by turn is used as a whole")
        if any((n.shape, n.dtype) != (arg.shape, arg.dtype) for n, arg in zip(nodes, node.args, strict=True)):
            raise RollingError("a value of another kind takes part in some turn")
        return with_args(node, tuple(nodes))

    def _read(self, j: int, node: Node, array: Made) -> Node:
        if isinstance(array, Version):
            window, within = self._window(j, node, array.buffer.first.shape)
            return _part_of(array.read(window), within)
        source = self.turns.sources[j][0]
        if not isinstance(source, Fixed):
            raise RollingError("an index by turn names elements of an array that is made in the same turn")
        whole = self.roller.value(source.at)
        axis = self._axis(j, node, whole.shape)
        if axis:
            order = (axis, *(k for k in range(len(whole.shape)) if k != axis))
            transpose = op_named("transpose")
            whole = made_call(transpose, (whole,), {**transpose.settings, "axes": order})
        window, within = self._window(j, node, self.roller.value(source.at).shape, axis)
        return _part_of(self._sliced(whole, window), within)

    def _write(self, j: int, node: Node, value: Node, version: Version) -> Version:
        if node.settings["path"]:
            raise RollingError("it writes through a view of an array")
        if value.kind != "constant" or np.asarray(value.value).tobytes().strip(b"\0"):
            version.buffer.overwrites = True  # with anything but +0
        window, within = self._window(j, node, node.shape)
        row = version.read(window)
        if not within and (value.shape, value.dtype) == (row.shape, row.dtype) and not is_number(value):
            return version.written(window, value)
        settings = {**node.settings, "index": within if within else ...}
        return version.written(window, call(node.op, (value, row), settings, row.shape, row.dtype))  # type: ignore[arg-type]  # it has one

    def _add(self, args: Sequence[Made]) -> Version:
        x, y = args
        version, addend = (x, y) if isinstance(y, Addend) else (y, x)
        if not isinstance(version, Version) or not isinstance(addend, Addend):
            raise RollingError("it writes by turn into an array that is made in the same turn")
        version.buffer.adds = True
        row, value = version.read(addend.window), addend.value
        if addend.within or value.shape != row.shape:
            scatter = op_named("scatter_add")
            settings = {**scatter.settings, "index": addend.within if addend.within else ..., "shape": row.shape}
            value = call(scatter, (value,), settings, row.shape, value.dtype)
        if (value.dtype, row.dtype) != (version.buffer.first.dtype,) * 2:
            raise RollingError("it adds to an array of another dtype")
        pair = (row, value) if version is x else (value, row)
        return version.written(addend.window, call(op_named("add"), pair, {}, row.shape, row.dtype))

    def _axis(self, j: int, node: Node, shape: tuple[int, ...]) -> int:
        """The axis along which an index goes by turn."""
        one, two = (_parts(self._index(j, node, turn), shape) for turn in (0, 1))
        axes, axis = [], 0
        for a, b in zip(one, two, strict=True):
            if a is not None:
                if a != b:
                    axes.append(axis)
                axis += 1
        if len(axes) > 1:
            raise RollingError("an index goes by turn along several axes")
        return axes[0] if axes else 0

    def _window(self, j: int, node: Node, shape: tuple[int, ...], axis: int = 0) -> tuple[Window, tuple[object, ...]]:
        """The rows that the index of call `j` names, and the index of what it names in them; empty for all."""
        if self._axis(j, node, shape) != axis:
            raise RollingError("it writes by turn along another axis than the first")
        count, found = self.turns.times, list[tuple[int, int | None]]()
        for turn in (0, 1, count - 1):
            parts = _parts(self._index(j, node, turn), shape)
            places = [k for k, part in enumerate(parts) if part is not None]
            found.append(_rows(parts[places[axis]], shape[axis]))
        start, step = found[0][0], found[1][0] - found[0][0]
        if len({width for _, width in found}) > 1 or found[2][0] != start + step * (count - 1):
            raise RollingError("an index is not affine in the turn")
        width = found[0][1]
        low, high = sorted((start, found[2][0]))
        if low < 0 or high + (width or 1) > shape[axis]:
            raise RollingError("an index leaves the array")
        within = list(parts)
        if width is None:
            del within[places[axis]]
        else:
            within[places[axis]] = slice(None)
            if axis:
                raise RollingError("a slice goes by turn along another axis than the first")
        plain = all(part == slice(None) for part in within)
        return Window(start, step, width), () if plain else tuple(within)

    def _index(self, j: int, node: Node, turn: int) -> object:
        return filled(node.settings["index"], iter([first + by * turn for first, by in self.turns.numbers[j]]))

    # -- The loop -------------------------------------------------------------------------------------------

    def _finish(self, stacked: list[int], last: list[int]) -> None:
        chains = list(self._carried)
        nexts = [self._plain(j) if len(first) == 1 else self._carried[j, first[1:]] for j, first in chains]
        places, rows, shown = list[BufferWindow](), list[Node](), list[Node]()
        buffers = list(self._buffers.items())
        for k, (j, buffer) in enumerate(buffers):
            version = self._made[j]
            if not isinstance(version, Version) or version.buffer is not buffer:
                raise RollingError("it writes by turn into an array that is made in the same turn")
            if buffer.adds and buffer.overwrites:
                raise RollingError("it overwrites and adds to one array by turn")
            for window, node in buffer.windows.items():
                places.append(BufferWindow(k, window, window in version.held))
                shown.append(node)
                rows += [version.held[window]] if window in version.held else []
        finals = [j for j in last if j not in stacked and j not in self._growing and not any(c[0] == j for c in chains)]
        outputs = [*nexts, *rows, *(self._plain(j) for j in (*stacked, *finals))]
        inputs = [*self._carried.values(), *self._slices.values(), *shown, *self._fixed.values()]
        body = Graph(inputs, outputs, name="body")
        windows = [window for _, window in self._slices]
        self.loop = Loop(body, self.turns.times, len(chains), windows, len(buffers), places, len(stacked))
        value = self.roller.value
        self.args = [value(first[0]) for _, first in chains]
        self.args += [array for array, _ in self._slices]
        self.args += [_settled(buffer) for _, buffer in buffers]
        self.args += list(self._fixed)
        results = [("last", j) if len(first) == 1 else ("", 0) for j, first in chains]
        results += [("last", j) for j, _ in buffers]
        results += [*(("stack", j) for j in stacked), *(("last", j) for j in finals)]
        self.results = {k: result for k, result in enumerate(results) if result[0]}
        counts = {"carried": len(chains), "read by turn": len(windows), "written by turn": len(buffers),
                  "kept of every turn": len(stacked)}  # fmt: skip
        self.text = ", ".join(f"{count} {name}" for name, count in counts.items() if count)

    def _plain(self, j: int) -> Node:
        made = self._made[j]
        if not isinstance(made, Node):
            raise RollingError("an array that is written by turn is used as a whole")
        return made


def _settled(buffer: Buffer) -> Node:
    """The array before the first turn. Adding zeros elsewhere in each turn would make +0 of -0."""
    if not buffer.adds:
        return buffer.first
    zero = constant(np.zeros((), buffer.first.dtype))
    return call(op_named("add"), (buffer.first, zero), {}, buffer.first.shape, buffer.first.dtype)


def _parts(index: Index, shape: tuple[int, ...]) -> list[Value]:
    """One part for each axis, and None for new ones."""
    parts = index if isinstance(index, tuple) else (index,)
    if not all(part is None or part is Ellipsis or type(part) in (int, slice) for part in parts):
        raise RollingError("an index by turn stands beside an array of places")
    missing = len(shape) - sum(part is not None and part is not Ellipsis for part in parts)
    where = next((i for i, part in enumerate(parts) if part is Ellipsis), len(parts))
    return [*parts[:where], *(slice(None),) * missing, *parts[where + 1 :]]


def _rows(part: Value, length: int) -> tuple[int, int | None]:
    """Where the rows begin that a part of an index names, and how many; None for one, which loses its axis."""
    if type(part) is int:
        return (part + length if part < 0 else part), None
    start, stop, step = part.indices(length)
    if step != 1:
        raise RollingError("a slice that goes by turn has steps")
    return start, max(stop - start, 0)


def _part_of(row: Node, within: tuple[object, ...]) -> Node:
    """The part of a window that an index names."""
    if not within:
        return row
    getitem = op_named("getitem")
    return made_call(getitem, (row,), {**getitem.settings, "index": within})
