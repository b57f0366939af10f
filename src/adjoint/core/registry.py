"""The table of everything that adjoint understands, by name and by the NumPy callable it answers."""

from __future__ import annotations

import copyreg
import sys
from functools import cache
from importlib import import_module
from inspect import unwrap
from types import CodeType

import numpy as np

from adjoint.core.errors import ArgumentError
from adjoint.core.late import service
from adjoint.core.memory import AS_MADE, Memory
from adjoint.core.messages.refusals import RARE, STUMBLED, numpys, refuse, unusual
from adjoint.core.messages.words import ARGUMENTS, FUNCTIONS, MEANT, function_at, has_words, in_numpys_words
from adjoint.core.op import Documentation, Op, Samples
from adjoint.core.types import Function, Settings, Value

#: Names of arguments that need a second look.
SELDOM = RARE | ARGUMENTS.keys()


class Composite:
    """A function written in terms of operations; its derivatives come from theirs.

    `flags`: ``in_place`` for one that writes into its argument, ``not_supported`` for one that only refuses; `note`
    says more about it. `memory`: where its result lies, if the calls that it is made of do not decide that.
    """

    __slots__ = ("answers", "errors", "flags", "function", "memory", "name", "note", "samples")

    def __init__(
        self,
        name: str,
        function: Function,
        answers: tuple[Function, ...] = (),
        samples: Samples | None = None,
        errors: Samples | None = None,
        flags: frozenset[str] = frozenset(),
        note: str = "",
        memory: Memory = AS_MADE,
    ) -> None:
        self.name = name
        self.function = function
        self.answers = answers
        self.samples = samples
        self.errors = errors
        self.flags = flags
        self.note = note
        self.memory = memory

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        if kwargs and not SELDOM.isdisjoint(kwargs):
            if has_words(kwargs) and self.name in MEANT:
                return placed(MEANT[self.name])(*args, **kwargs)
            kwargs = self.in_its_words(kwargs)
            if self.answers and unusual(kwargs):
                refuse(self.answers[0], args, kwargs)
        try:
            return self.function(*args, **kwargs)
        except STUMBLED as error:
            found = numpys(error, self.answers[0] if self.answers else self.function, args, kwargs)
            if found is error:
                raise
            raise found from None

    def in_its_words(self, kwargs: Settings) -> dict[str, object]:
        """`kwargs` by the names that its function has."""
        return in_numpys_words(kwargs, self.parameters(), self.name) if has_words(kwargs) else dict(kwargs)

    def parameters(self) -> tuple[str, ...]:
        """The names of the arguments of its function."""
        code: CodeType = unwrap(self.function).__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


Documentation(Composite, lambda made: made.function.__doc__)


Entry = Op | Composite

ENTRIES: dict[str, Entry] = {}
ANSWERS: dict[Value, Function] = {}
REDUCTIONS: dict[tuple[Value, str], Function] = {}
#: Families that load when first asked for: the module of each operation's name, and of each name that it answers;
#: ``ufunc.at`` is the name of this method of any ufunc.
LATER: dict[str, str] = {}
#: The key there of SciPy's functions, which load when these do, or when a name is in no other family.
SPECIAL = "scipy.special"


def register(entry: Entry) -> None:
    """Put `entry` into the table. A name has one entry; a NumPy callable has one answer."""
    for name in (entry.name, *(getattr(a, "__name__", "") for a in entry.answers)):
        _load(name)
    if entry.name in ENTRIES:
        raise ArgumentError(
            f"an operation named {entry.name!r} exists already: {ENTRIES[entry.name]!r}; "
            f"give yours another name: name='my_{entry.name}'"
        )
    taken = [a for a in entry.answers if a in ANSWERS]
    if taken:
        raise ArgumentError(f"{taken[0]!r} is answered by {ANSWERS[taken[0]]!r} already")
    ENTRIES[entry.name] = entry
    ANSWERS.update(dict.fromkeys(entry.answers, entry))


def of_numpy(module: Value, name: str) -> Value:
    """NumPy's ``module.name``; if we have a counterpart, that, since it takes PyTorch's words too.

    Raises:
        AttributeError: if NumPy has no such name.
    """
    found = getattr(module, name)
    return answer(found) or found if callable(found) else found


def answer(function: Value) -> Function | None:
    """Our counterpart of a NumPy or SciPy callable; None if there is none."""
    found = ANSWERS.get(function)
    if found is None:
        _load(getattr(function, "__name__", ""))
        found = ANSWERS.get(function)
    if found is None and SPECIAL in sys.modules:
        _load(SPECIAL)
        found = ANSWERS.get(function)
    return found


def method_of(ufunc: np.ufunc, name: str) -> Function | None:
    """Our counterpart of a method of a ufunc; None if there is none."""
    found = REDUCTIONS.get((ufunc, name))
    if found is None:
        _load(f"ufunc.{name}")
        found = REDUCTIONS.get((ufunc, name))
    return found


def operation(name: str) -> Entry:
    """The entry called `name`."""
    if name not in ENTRIES:
        _load(name)
        if name not in ENTRIES:
            _load(SPECIAL)
    return ENTRIES[name]


def op_named(name: str) -> Op:
    """The operation of this name, which is one of arrays."""
    found = operation(name)
    assert isinstance(found, Op)
    return found


def by_any_name(name: str) -> Function:
    """The operation called `name` here, or in PyTorch."""
    return placed(FUNCTIONS.get(name, name))


def placed(name: str) -> Function:
    """The operation of this name, or the function ``module:name``."""
    return function_at(name) if ":" in name else operation(name)


def entries() -> dict[str, Entry]:
    """All entries, by name; those of SciPy's functions too, if these are loaded."""
    _load_table()
    for name in LATER:
        if name != SPECIAL:
            _load(name)
    return ENTRIES


def _load(name: str) -> None:
    """Load the family that has an operation called `name`, or one that answers a function of that name."""
    if not LATER:
        _load_table()
    home = LATER.get(name)
    if home is not None:
        import_module(home)


@cache
def _load_table() -> None:
    """Fill the table of families, when something is first asked for."""
    service("operations")


def _by_name(op: Op) -> tuple[Function, tuple[str]]:
    return operation, (op.name,)


copyreg.pickle(Op, _by_name)  # pickles and copies of an operation are the operation
