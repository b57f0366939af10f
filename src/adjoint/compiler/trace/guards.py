"""What was read while a function was recorded, as conditions under which the trace holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from operator import setitem

import numpy as np

from adjoint.compiler.trace.loops.numbers.reaches import LARGEST
from adjoint.compiler.trace.outside import MISSING, is_fixed
from adjoint.core.codegen import defined
from adjoint.core.threads.commit import Action
from adjoint.core.types import Array, Value
from adjoint.graph.node import bits_of
from adjoint.tape.tensor import Tensor

NameOf = Callable[[Value], str]


class Binding:
    """Where a value is read: ``holder[key]``."""

    __slots__ = ("holder", "key")

    def __init__(self, holder: Value, key: Value) -> None:
        self.holder, self.key = holder, key

    @property
    def identity(self) -> object:
        """A key that distinguishes it from other places."""
        return id(self.holder), self.key, type(self)

    @property
    def name(self) -> str:
        return str(self.key)

    def read(self) -> Array:
        if isinstance(self.holder, defaultdict) and self.key not in self.holder:
            raise KeyError(self.key)  # which else would be made
        return self.holder[self.key]

    def text(self, name_of: NameOf) -> str:
        """How it is read, in Python."""
        key = repr(self.key) if type(self.key) in (str, int) else name_of(self.key)
        return f"{name_of(self.holder)}[{key}]"

    def writing(self, value: Array) -> Action:
        """The action that writes `value` there."""
        return setitem, self.holder, self.key, value


class CellBinding(Binding):
    """The contents of a closure's cell; `key` is the variable's name."""

    __slots__ = ()

    def read(self) -> Value:
        return self.holder.cell_contents

    def text(self, name_of: NameOf) -> str:
        return f"{name_of(self.holder)}.cell_contents"

    def writing(self, value: object) -> Action:
        return setattr, self.holder, "cell_contents", value


class AttributeBinding(Binding):
    """An attribute."""

    __slots__ = ()

    def read(self) -> Value:
        return getattr(self.holder, self.key)

    def text(self, name_of: NameOf) -> str:
        return f"{name_of(self.holder)}.{self.key}"

    def writing(self, value: object) -> Action:
        return setattr, self.holder, self.key, value


class ThingBinding(Binding):
    """A thing that is known by itself: the key of a dictionary, say."""

    __slots__ = ()

    def read(self) -> Value:
        return self.holder

    def text(self, name_of: NameOf) -> str:
        return name_of(self.holder)


class Guards:
    """Conditions, each as a Python expression of the call's `args` and `kwargs` and of things known by identity.

    Attributes:
        scalars: places of numbers that are part of the program, each with its number.
        values: places with what they have to have: this very thing, or (True) a value that means the same.
    """

    def __init__(self) -> None:
        self._lines: dict[Value, Callable[[NameOf], str]] = {}
        self._kept: list[Value] = []
        self._spaces: dict[int, tuple[type, Value]] = {}
        self._attributes: dict[tuple[int, str, int], tuple[type, Value]] = {}  # what was read of classes
        self._lacking: dict[int, tuple[set[str], Value]] = {}
        self._compiled: dict[bool, Callable[[Value, Value], bool]] = {}
        self.scalars: list[tuple[Binding, Value]] = []
        self.values: list[tuple[Binding, Value, bool]] = []

    def add(self, key: object, line: Callable[[NameOf], str]) -> None:
        """Add a condition, once; `key` says which it is."""
        self._lines.setdefault(key, line)

    def at(self, place: Binding, value: object) -> None:
        """``place`` has this very thing."""
        word = "plain" if value is None or type(value) is bool else "is"
        key = (word, place.identity, id(value))
        if key not in self._lines:
            self.values.append((place, value, False))
            self.add(key, lambda name_of: f"{place.text(name_of)} is {_said(value, name_of)}")

    def equal(self, place: Binding, value: object) -> None:
        """``place`` has a value that means the same to a program."""
        if type(value) in (int, float, complex) or isinstance(value, np.generic):
            self.scalars.append((place, value))

        def line(name_of: NameOf) -> str:
            text, known = place.text(name_of), name_of(value)
            if type(value) in (int, str, bool):  # what `same` says, without a call
                return f"({text} is {known} or (type({text}) is {name_of(type(value))} and {text} == {known}))"
            return f"({text} is {known} or {name_of(same)}({text}, {known}))"

        if ("equal", place.identity) not in self._lines:
            self.values.append((place, value, True))
            self.add(("equal", place.identity), line)

    def kind(self, place: Binding, kind: type) -> None:
        """``place`` has an object of this very class."""
        self.add(("kind", place.identity), lambda name_of: f"type({place.text(name_of)}) is {name_of(kind)}")

    def small(self, place: Binding) -> None:
        """``place`` has a whole number of which products have 64 bits."""
        self.add(("small", place.identity), lambda name_of: f"{-LARGEST} < {place.text(name_of)} < {LARGEST}")

    def wide(self, place: Binding) -> None:
        """``place`` has a number that computes as Python's floats do: none of NumPy's of less precision."""
        kinds = (float, int)
        self.add(("wide", place.identity), lambda name_of: f"isinstance({place.text(name_of)}, {name_of(kinds)})")

    def alike(self, a: Binding, b: Binding) -> None:
        """Two places have the same thing."""
        self.add(("alike", a.identity, b.identity), lambda name_of: f"{a.text(name_of)} is {b.text(name_of)}")

    def has(self, holder: object, key: Value, there: bool, why: str = "has") -> None:
        """Whether a dictionary has a key: the program asked for it, or sets it, which says where it comes."""
        word = "in" if there else "not in"
        self.add((why, id(holder), key), lambda name_of: f"{_key(key, name_of)} {word} {name_of(holder)}")
        self._kept.append(holder)

    def attribute(self, kind: type, name: str, after: type | None = None) -> Value:
        """What a class has under a name, which is to stay so; of its bases `after` one, if that is given.

        It is read in the dictionaries of the classes: to ask a class for it may call a descriptor's method.
        """
        key = (id(kind), name, id(after))
        if key not in self._attributes:
            self._attributes[key] = kind, self._attribute(kind, name, after)
        return self._attributes[key][1]

    def _attribute(self, kind: type, name: str, after: type | None) -> Value:
        is_ours, kinds = kind.__module__.startswith("adjoint."), kind.__mro__
        if not is_ours:
            self._same_bases(kind)
        for base in kinds if after is None else kinds[kinds.index(after) + 1 :]:
            if name in vars(base):
                return self._own(base, name)
            if not is_ours:
                self._lacks(base, name)
        return MISSING

    def _own(self, base: type, name: str) -> Value:
        """Guard the value that a class itself has under a name."""
        space = self._space(base)
        value = space[name]
        self._kept.append(value)
        if not is_fixed(base):
            self.add(("own", id(space), name), lambda name_of: f"{name_of(space)}[{name!r}] is {name_of(value)}")
        return value

    def _same_bases(self, kind: type) -> None:
        """The class has the same bases."""
        if not is_fixed(kind):
            kinds = kind.__mro__
            self._kept.append(kinds)
            self.add(("bases", id(kinds)), lambda name_of: f"{name_of(kind)}.__mro__ is {name_of(kinds)}")

    def _lacks(self, base: type, name: str) -> None:
        """The class has no such attribute of its own."""
        if is_fixed(base):
            return
        space = self._space(base)
        if id(space) not in self._lacking:
            self._lacking[id(space)] = (set(), space.keys().isdisjoint)
        names, without = self._lacking[id(space)]
        names.add(name)

        def line(name_of: NameOf) -> str:
            if len(names) == 1:
                return f"{name!r} not in {name_of(space)}"
            return f"{name_of(without)}({name_of(names)})"

        self.add(("lacks", id(space)), line)

    def _space(self, base: type) -> Value:
        """The dictionary of a class, as Python shows it; the same object each time."""
        return self._spaces.setdefault(id(base), (base, vars(base)))[1]

    def writable(self, place: Binding | str) -> None:
        """An array, found at a place or read as a text, can be written."""
        if isinstance(place, str):
            self.add(("writable", place), lambda _: f"{place}.flags.writeable")
        else:
            self.text(("writable", place.identity), lambda name_of: f"{place.text(name_of)}.flags.writeable")

    def same_list(self, things: list[Value]) -> None:
        """A list has the same things in it."""
        copy = list(things)
        self.text(("list", id(things)), lambda name_of: f"{name_of(things)} == {name_of(copy)}")

    def text(self, key: object, text: Callable[[NameOf], str]) -> None:
        """Any other condition."""
        self.add(("text", key), text)

    def about(self, holder: object, key: object) -> set[str]:
        """The questions of the conditions on ``holder[key]``, and on `holder` as a whole."""
        found = set()
        for line in self._lines:
            word, first, *rest = line[1] if line[0] == "text" and isinstance(line[1], tuple) else line
            if type(first) is int and first == id(holder) and rest[:1] in ([], [key]):
                found.add(word)
            if any(isinstance(place, tuple) and place[:2] == (id(holder), key) for place in (first, *rest)):
                found.add(word)
        return found

    def keys(self, holder: object) -> Iterator[object]:
        """The keys of `holder` that conditions are about."""
        for line in self._lines:
            yield from (place[1] for place in line if isinstance(place, tuple) and place[:1] == (id(holder),))

    def name(self, thing: object) -> str:
        """The name of a thing from outside where it was found first; else its class."""
        for line in self._lines:
            if line[0] == "is" and line[2] == id(thing):
                return str(line[1][1])
        return type(thing).__name__

    def forget(self) -> None:
        """Let go of everything, when there will be no trace."""
        self._lines.clear()
        self._kept.clear()
        self._spaces.clear()
        self._attributes.clear()
        self._lacking.clear()
        self.scalars.clear()
        self.values.clear()

    # -- At each call -----------------------------------------------------------------------------------

    def conditions(self, name_of: NameOf) -> Iterator[str]:
        """All conditions; what they raise means that they do not hold."""
        for line in self._lines.values():
            yield line(name_of)

    def holds(self, args: object, kwargs: object) -> bool:
        """Whether everything is as it was."""
        return self._asked(args, kwargs, False)

    def may_return(self, args: object, kwargs: object) -> bool:
        """Whether everything is there that was, but for plain values, which may be what they were later."""
        return self._asked(args, kwargs, True) and not self.changed()

    def _asked(self, args: object, kwargs: object, identities: bool) -> bool:
        if identities not in self._compiled:
            self._compiled[identities] = self._function(identities)
        try:
            return self._compiled[identities](args, kwargs)
        except (KeyError, IndexError, ValueError, AttributeError, TypeError):
            return False

    def _function(self, identities: bool) -> Callable[[Value, Value], bool]:
        scope: dict[str, object] = {}
        names: dict[int, str] = {}

        def name_of(thing: object) -> str:
            if id(thing) not in names:
                names[id(thing)] = f"c{len(names)}"
                scope[names[id(thing)]] = thing
            return names[id(thing)]

        each = [line(name_of) for key, line in self._lines.items() if not identities or key[0] == "is"]
        lines = [f"    if not ({line}): return False" for line in each]
        text = "\n".join(["def holds(args, kwargs):", *lines, "    return True"])
        found: Callable[[Value, Value], bool] = defined(text, "guards", scope, "holds")
        return found

    def changed(self) -> list[Value]:
        """The identities of places where another number of the same type is now, or another tensor without history."""
        found = []
        for place, value in self.scalars:
            try:
                now = place.read()
            except (KeyError, IndexError, ValueError, AttributeError):
                continue
            if type(now) is type(value) and not same(now, value):
                found.append(place.identity)
        for place, value, _ in self.values:
            if isinstance(value, Tensor):
                with suppress(KeyError, IndexError, ValueError, AttributeError):
                    now = place.read()
                    if now is not value and isinstance(now, Tensor) and is_alone(now) and is_alone(value):
                        found.append(place.identity)
        return found


def is_alone(tensor: Tensor) -> bool:
    """Whether it has data, and nothing else: no history, no gradient, no level of a transform."""
    return type(tensor) is Tensor and not tensor.level and tensor.node is None


def _said(value: object, name_of: NameOf) -> str:
    return repr(value) if value is None or value is True or value is False else name_of(value)


def _key(key: str, name_of: NameOf) -> str:
    return repr(key) if type(key) in (str, int) else name_of(key)


PLAIN = (int, str, bytes, bool, type(None), type(Ellipsis), type(NotImplemented), range, float, complex)


def same(now: Value, value: Value) -> bool:
    """Whether two values mean the same to a program: only plain ones can, all others are known by identity."""
    if now is value:
        return True
    kind = type(value)
    if type(now) is not kind:
        return False
    if kind is float or kind is complex:
        return bool(bits_of(now) == bits_of(value))
    if kind is range or kind is slice:
        return same((now.start, now.stop, now.step), (value.start, value.stop, value.step))
    if kind in PLAIN or isinstance(value, np.dtype):
        return bool(now == value)
    if isinstance(value, np.generic):
        return bool(now.dtype == value.dtype and now.tobytes() == value.tobytes())
    if isinstance(value, tuple | frozenset):
        return alike(now, value)
    if kind is np.ndarray:
        return bool(now.dtype == value.dtype and now.shape == value.shape and np.array_equal(now, value))
    return False


def alike(now: Collection[Value], values: Collection[Value]) -> bool:
    """Whether there are the same things in the same order: not such as are only equal, as 1 and True are."""
    return len(now) == len(values) and all(
        a is b or (type(b) is not np.ndarray and same(a, b)) for a, b in zip(now, values, strict=True)
    )
