"""`Op`: one operation as an immutable record: how it is computed, and its gradient rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from adjoint.core.backend import alone
from adjoint.core.box import Box, apply, differs, outermost, varies
from adjoint.core.errors import ArgumentError, BatchedValueError, NotDifferentiableError
from adjoint.core.memory import NEW_K, Memory
from adjoint.core.messages.words import MEANT, function_at, has_words, in_numpys_words
from adjoint.core.record import Record
from adjoint.core.types import Array, Function, Value

OpKind = Literal["elementwise", "reduction", "linear", "general", "constant"]


class SampleCall(Record):
    """One sample call for the tests that walk the registry."""

    __slots__ = ()

    args: tuple[Value, ...]
    kwargs: dict[str, Value]


def call(*args: Value, **kwargs: Value) -> SampleCall:
    """`call(r(3, 4), axis=1)`: the arguments of one sample call, written as a call.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> ad.call(np.ones(2), axis=0).kwargs
        {'axis': 0}
    """
    return SampleCall(args, kwargs)


Samples = Callable[[Callable[..., Value]], Sequence[SampleCall]]
#: See `Op.settle` and `Op.within`.
Settle = Callable[[Sequence[Value], Mapping[str, Value]], Mapping[str, Value]]
Within = Callable[[Value, tuple[Value, ...]], Sequence[Value]]


class Rule(Record):
    """A gradient rule, or a number where the partial derivative is that number everywhere.

    `names` are what the rule takes, in order: ``g`` (the cotangent), inputs by name, ``out``,
    ``<input>_shape``, and settings. The tape keeps the values that are named here.
    """

    __slots__ = ()

    function: Function | float
    names: tuple[str, ...] = ()


def rule_of(function: Function | float | Rule) -> Rule:
    """Read a rule's names off its own parameters, so that the saved set cannot drift."""
    if isinstance(function, Rule):
        return function
    if not callable(function):
        return Rule(function)
    return Rule(function, parameters(function))


def parameters(function: Function) -> tuple[str, ...]:
    """The parameter names of a plain Python function."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise ArgumentError(
            f"a gradient rule must be a Python function whose parameters say what it needs; got "
            f"{function!r}. Wrap it: lambda x: {getattr(function, '__name__', 'f')}(x)"
        )
    return tuple(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


_ORDERED = frozenset({"random", "collective"})
#: What ``where=`` means, which may differ between samples.
_MASKED: Mapping[str, Callable[[Array, Array], Array]] = {
    "any": np.logical_and,
    "all": lambda x, where: np.logical_or(x, np.logical_not(where)),
}


class Op:
    """One differentiable operation.

    Attributes:
        name: what messages and pictures call it.
        forward: computes on plain arrays: ``forward(*arrays, **settings)``.
        inputs: names of the array arguments; a single ``"*xs"`` takes any number of them.
        settings: the other arguments with their defaults.
        order: of a constant function of NumPy's: the names of its settings, each at its place among the arguments.
        rules: one gradient rule an input; or one rule for all inputs, if `joint`.
        jvps: forward mode, where it is not derived: one rule an input, which names ``t`` (that input's tangent)
            and gives its share of the result's; or one rule for all inputs, if `joint`.
        batch: how a stack of samples is computed at once, where that is not derived. See `adjoint.batch.rules`.
        kind: what the derived rules (forward mode, batching) and rewrites read.
        flags: ``commutative``, ``idempotent`` …, for rewrites; ``real`` refuses derivatives by complex numbers;
            ``selects``, ``picks``, ``moves``, ``pads`` and ``finite`` say what becomes of zeros (docs/add_an_op.md);
            ``raises`` that its values may be such that it raises, as a singular matrix; ``collective`` that other
            processes give a part of its result; ``crosses`` that this may be another library's array; ``host`` that
            it takes NumPy's arrays only; ``array`` that a result without axes is an array, ``as_given`` that it is one
            if the first argument is.
        memory: whether the result is a view, and how it lies.
        settle: gives the settings for these arrays, where one asks how an array lies in memory: order "A".
        within: the pullback of one argument, which writes into a cotangent that nothing else refers to.
        answers: the NumPy callables for which this operation stands.
        samples, errors: calls for the tests that walk the registry.
    """

    __slots__ = (
        *(
            "name",
            "forward",
            "inputs",
            "rules",
            "jvps",
            "batch",
            "settings",
            "order",
            "kind",
            "joint",
            "multiple",
            "flags",
        ),
        *("memory", "settle", "within", "answers", "samples", "errors", "doc", "pullbacks"),
    )

    def __init__(
        self,
        name: str,
        forward: Function,
        inputs: tuple[str, ...],
        rules: tuple[Rule, ...] = (),
        jvps: tuple[Rule | None, ...] = (),
        batch: Function | str | None = None,
        settings: Mapping[str, Value] | None = None,
        order: tuple[str, ...] = (),
        kind: OpKind = "general",
        joint: bool = False,
        multiple: bool = False,
        flags: frozenset[str] = frozenset(),
        memory: Memory = NEW_K,
        settle: Settle | None = None,
        within: Within | None = None,
        answers: tuple[Function, ...] = (),
        samples: Samples | None = None,
        errors: Samples | None = None,
        doc: str = "",
        pullbacks: dict[Value, Value] | None = None,
    ) -> None:
        self.name = name
        self.forward = forward
        self.inputs = inputs
        self.rules = rules
        self.jvps = jvps
        self.batch = batch
        self.kind = kind
        self.joint = joint
        self.multiple = multiple
        self.flags = flags
        self.memory = memory
        self.settle = settle
        self.within = within
        self.answers = answers
        self.samples = samples
        self.errors = errors
        self.doc = doc or (None if isinstance(forward, partial) else forward.__doc__) or ""
        self.settings = {} if settings is None else settings
        self.order = order
        self.pullbacks = {} if pullbacks is None else pullbacks

    @property
    def ordered(self) -> bool:
        """Whether each of its calls happens by itself, in the order of the program: a random draw, or a message."""
        return bool(self.flags) and not _ORDERED.isdisjoint(self.flags)

    def replace(self, **changes: object) -> Op:
        """A copy with other values of some attributes."""
        return Op(**{name: getattr(self, name) for name in Op.__slots__} | changes)

    def __call__(self, *args: Value, **kwargs: Value) -> Value:
        """Apply the operation to arrays, tensors or any other boxes."""
        if len(args) != len(self.inputs) or self.inputs[0][0] == "*":
            if kwargs and self.name in MEANT and has_words(kwargs):
                return function_at(MEANT[self.name])(*args, **kwargs)
            if kwargs and self.kind == "constant" and has_words(kwargs):
                kwargs = in_numpys_words(kwargs, signature(self.answers[0]).parameters, self.name)
                answer, box = self(*args, **kwargs), outermost(args)
                return answer if box is None else box.constant(answer)  # type: ignore[attr-defined]  # of arrays
            args, settings = self.bind(args, kwargs)
            if self.kind == "constant" and isinstance(settings.get("out"), Box):  # given by its place
                return self.answers[0](*args, **settings)
            return apply(self, args, settings)
        settings = self.settings
        if kwargs:
            for name, value in kwargs.items():
                if name not in settings or isinstance(value, Box) or self.settle is not None:
                    if self.name in MEANT and has_words(kwargs):
                        return function_at(MEANT[self.name])(*args, **kwargs)
                    if name == "out" and value is not None:
                        value[...] = self(*args, **{word: x for word, x in kwargs.items() if word != "out"})
                        return value
                    args, settings = self.bind(args, kwargs)
                    return apply(self, args, settings)
            settings = {**settings, **kwargs}
        if len(args) == 1 and isinstance(args[0], Box):  # what `apply` does
            return args[0].process(self, args, settings)
        return apply(self, args, settings)

    def bind(
        self, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> tuple[tuple[Value, ...], Mapping[str, Value]]:
        """Split a NumPy-style call into array arguments and settings, defaults filled in."""
        if self.inputs[0][0] == "*":
            if self.kind != "constant":
                self._reject(kwargs.keys() - self.settings.keys())
            elif len(self.order) >= len(args) and self.order[len(args) - 1]:  # the last one is a setting
                args, kwargs = self._named(args, kwargs)
            if self.name in _MASKED and isinstance(kwargs.get("where"), Box):
                args, kwargs = (_MASKED[self.name](args[0], kwargs["where"]), *args[1:]), {**kwargs, "where": True}
            return args, {**self.settings, **kwargs}
        count = len(self.inputs)
        arrays, rest = list(args[:count]), args[count:]
        given = (
            in_numpys_words(kwargs, (*self.inputs, *self.settings), self.name) if has_words(kwargs) else dict(kwargs)
        )
        for name in self.inputs[len(arrays) :]:
            if name not in given:
                raise ArgumentError(
                    f"{self.name} takes {count} array{'s' * (count > 1)} "
                    f"({', '.join(self.inputs)}); `{name}` is missing"
                )
            arrays.append(given.pop(name))
        if len(rest) > len(self.settings):
            raise ArgumentError(
                f"{self.name} takes at most {count + len(self.settings)} arguments "
                f"({', '.join((*self.inputs, *self.settings))}); got {len(args)}"
            )
        given.update(zip(self.settings, rest, strict=False))
        self._reject(given.keys() - self.settings.keys())
        for name, value in given.items():
            if isinstance(value, Box):
                given[name] = self._plain(name, value)
        settings = {**self.settings, **given}
        return tuple(arrays), settings if self.settle is None else self.settle(arrays, settings)

    def _named(self, args: tuple[Array, ...], kwargs: dict[str, object]) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """The same call with all settings by name; as it is, if one is there twice: then NumPy says so."""
        named = {name: value for name, value in zip(self.order, args, strict=False) if name}
        if not named.keys().isdisjoint(kwargs):
            return args, kwargs
        return args[: len(args) - len(named)], {**named, **kwargs}

    def _plain(self, name: str, value: Array) -> object:
        """The numbers of a box that was given as a setting, which no gradient flows through."""
        if differs(value):
            raise BatchedValueError(
                f"{self.name} takes one `{name}` for all samples of a vmap, since it is a setting; got one for each. "
                f"Call it for one sample after another"
            )
        if not varies(value) and getattr(value, "requires_grad", True):
            raise NotDifferentiableError(
                f"{self.name} has no derivative with respect to `{name}`: it is a setting. Take it out of the graph "
                f"first: {name}.detach()"
            )
        return alone(value)

    def _reject(self, unknown: set[str]) -> None:
        if unknown:
            known = ", ".join((*self.inputs, *self.settings))
            raise ArgumentError(f"{self.name} has no argument {', '.join(sorted(unknown))!r}; it takes ({known})")

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join((*self.inputs, *self.settings))})>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:  # bound, or as it is in a node
        """Bind like a function, so that an operation can be a method of an array class."""
        return self if instance is None else partial(self, instance)


class Documentation:
    """What `help` says: of a class its own text, of one of its instances what that says of itself."""

    def __init__(self, kind: type, of: Function) -> None:
        self.text, self.of = kind.__doc__, of
        type.__setattr__(kind, "__doc__", self)

    def __get__(self, instance: object, owner: type | None = None) -> str | None:
        return self.text if instance is None else self.of(instance) or self.text


Documentation(Op, lambda op: op.doc)
NO_SETTINGS: Mapping[str, Value] = MappingProxyType({})
