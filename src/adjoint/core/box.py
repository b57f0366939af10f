"""The one door: `apply` hands a call to the outermost kind of array among its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING

from adjoint.core.errors import BatchedValueError
from adjoint.core.messages.elsewhere import Elsewhere
from adjoint.core.messages.warned import ON_DEVICES, REFUSES, is_refused, warned
from adjoint.core.types import Array, Settings, Value

if TYPE_CHECKING:
    from adjoint.core.op import Op

__warningregistry__ = REFUSES  # `apply` computes for users
_levels = count(1)
#: The classes of values that left a transform, once there are any (`core/leaks/left.py`).
TRACKED: set[type] = set()
#: The classes of other libraries' arrays that were met, each with what raises if they met another one's
#: (`core/backend.py`).
ELSEWHERE: dict[type, Callable[[str, Sequence[Value], Exception], None]] = {}


def report_mix(name: str, args: Sequence[object], error: Exception) -> None:
    """Raise what `error` of the operation `name` says where `args` are arrays of other libraries, or of two."""
    for x in args:
        if type(raw(x)) in ELSEWHERE:
            ELSEWHERE[type(raw(x))](name, args, error)


def new_level() -> int:
    """A level above every level in use. Levels only grow, so none has to be given back."""
    return next(_levels)


class Box:
    """An array that is more than numbers. A box of a lower level is a constant to a higher one."""

    __slots__ = ("level",)
    level: int
    #: Whether this box holds one value a sample, of many samples.
    per_sample = False
    #: The kinds of numbers with which this box may stand in an index; of others, the values do.
    in_index = ""
    #: Of an array that stands for values to come: whether one of these may be infinite or nan.
    may_be_infinite = True
    #: Whether to look at what this box holds makes the program wait, until NumPy's array is filled.
    waits = False
    #: Whether this box is part of a formula, so that it has no values to look at.
    is_formula = False
    #: Whether what an operation keeps of its work will be used again, on the backward pass.
    goes_back = False
    #: Whether this box stands for one of Python's own numbers; and the class of those of this kind, if there is one.
    is_python = False
    python_kind: Value = None

    @property
    def carries(self) -> bool:
        """Whether this level's transform needs this box's history, not only its values."""
        return False

    def process(self, op: Op, args: Sequence[object], settings: Settings) -> Value:
        """Carry out `op`, where this box has the highest level among `args`."""
        raise NotImplementedError

    @property
    def held(self) -> Value:
        """The array that this box is made of, on the level below."""
        raise NotImplementedError

    def lies(self) -> Array:
        """A plain array with the layout of this one; of one sample, if it holds many."""
        held = self.held
        return held.lies() if isinstance(held, Box) else held

    def seen_each(self, out: Array, op: Op, settings: Settings) -> Value:
        """`out`, which in each sample shows this box's memory at a place of its own, where the path `op` would lead."""
        return out

    def as_array(self) -> Value:
        """This box; of one of Python's numbers, an array's, which promotes as those do."""
        return self

    def among(self, op: Op, args: Sequence[Value]) -> Sequence[Value]:
        """The `args` of `op`, this number among them; Python's numbers in the dtypes in which `op` takes such."""
        return args

    def __dir__(self) -> list[str]:
        """What users use: not what only operations ask of a box."""
        return [
            name
            for name in object.__dir__(self)
            if name not in _FOR_OPERATIONS and (name[0] != "_" or name[:2] == "__") and not _is_elsewhere(self, name)
        ]

    def stays_finite(self) -> bool:
        """For an array whose values come later: whether they are finite, as far as this can be known."""
        return True

    def ends_pass(self, leaf: Value) -> None:
        """A backward pass ends with this gradient of `leaf`."""

    def arrived(self) -> Array:
        """This box; of an array whose values are on their way, these."""
        return self

    def apart(self) -> Value:
        """This box; one that can be written where it lies, in memory of its own."""
        return self

    def is_alone(self) -> bool:
        """Whether nothing else shows the memory in which this box's values lie, or will lie."""
        return False

    def settled(self) -> Value:
        """This box without wrappers of the same level that add nothing."""
        return self


def _is_elsewhere(box: Box, name: str) -> bool:
    """Whether `name` is there only to say what to write instead."""
    return any(isinstance(vars(kind).get(name), Elsewhere) for kind in type(box).__mro__)


_FOR_OPERATIONS = frozenset(vars(Box)) - frozenset(vars(object)) | {
    *("as_memory", "constant", "node", "of_python", "recorded", "snapshot", "unnested")
}


def settled(arg: object, level: int) -> Value:
    """`arg`, or the box of `level` that it only holds: an array of one kind that was written with another's values."""
    return arg.settled() if isinstance(arg, Box) and arg.level == level else arg


def returned(x: Array, level: int) -> Array:
    """`x` as the value of the function of a transform of `level`: without those inside of it, which are over.

    Their arrays are still there if the function kept them: in an outer array that it wrote into, say.
    """
    while isinstance(x, Box) and x.level > level and x.held is not x:
        if x.per_sample:
            raise BatchedValueError(
                "an array that stands for many samples was used after its vmap had ended: it was written into an array "
                "(or kept in a list) of the program around it. Return it from the function instead"
            )
        x = x.held
    x = settled(x, level)
    while isinstance(x, Box) and x.level == level and x.per_sample and not x.carries:
        x = x.held  # the same for all samples of this level
    return x


def without_constants(x: Array, level: int) -> Array:
    """`x` without the boxes above `level` that have no history: constants of inner transforms."""
    while isinstance(x, Box) and x.level > level and not x.carries and x.held is not x:
        x = x.held
    return x


def varies(x: Array) -> bool:
    """Whether `x` is a value for each of many samples, at whatever level."""
    while isinstance(x, Box):
        if x.per_sample:
            return True
        x = None if x.held is x else x.held
    return False


def differs(x: Array) -> bool:
    """Whether samples may differ in `x`: not where it is the same array for all of them."""
    while isinstance(x, Box):
        if x.per_sample and x.carries:
            return True
        x = None if x.held is x else x.held
    return False


def stays_in_index(x: Array) -> bool:
    """Whether `x` may stand in an index as it is: its values differ between samples, or between calls."""
    while isinstance(x, Box):
        if x.in_index:
            return x.dtype.kind in x.in_index  # type: ignore[attr-defined]  # every box has a dtype
        x = x.held
    return False


def raw(x: Array) -> Value:
    """The numbers of any array or box; of all samples, inside vmap. For questions such as whether any is 0."""
    while isinstance(x, Box) and (held := x.held) is not x:
        x = held
    return x


def apply(op: Op, args: Sequence[Value], settings: Settings) -> Value:
    """Carry out `op`: by the outermost box among `args`, or by NumPy if there is none."""
    top: Box | None = None
    number: Box | None = None  # one of Python's
    for arg in args:
        if isinstance(arg, Box):
            number = arg if arg.is_python else number
            if top is None or arg.level > top.level:
                top = arg
    if number is not None and len(args) > 1:
        args = number.among(op, args)
        top = outermost(args)
    if top is not None:
        return top.process(op, args, settings)
    if ON_DEVICES and (kind := next((type(x) for x in args if type(x) in ON_DEVICES), None)) is not None:
        ON_DEVICES[kind](op.name, args)  # CuPy would take the other device's memory, and move the result
    try:
        return op.forward(*args, **settings)
    except Exception as error:
        if is_refused(error):
            return warned(error, op.forward, args, settings)
        report_mix(op.name, args, error)
        raise


def goes_back(*args: object) -> bool:
    """Whether a call with `args` is recorded, so that its gradient rule may use what it keeps of its work later.

    Of arrays of other libraries nothing is kept: their functions give results alone.
    """
    top = outermost(args)
    if top is None or not top.goes_back:
        return False
    return not (ELSEWHERE and any(type(raw(x)) in ELSEWHERE for x in args))


def has_box(x: object) -> bool:
    """Whether `x` is a box, or one is in the list, tuple, dictionary or slice `x`."""
    if isinstance(x, Box):
        return True
    if isinstance(x, list | tuple):
        return any(map(has_box, x))
    if isinstance(x, dict):
        return any(map(has_box, x.values()))
    if isinstance(x, slice):
        return has_box((x.start, x.stop, x.step))
    return False


def outermost(args: Sequence[object]) -> Box | None:
    """The box of the highest level among `args`; the first of several, None if there is none."""
    top: Box | None = None
    for arg in args:
        if isinstance(arg, Box) and (top is None or arg.level > top.level):
            top = arg
    return top
