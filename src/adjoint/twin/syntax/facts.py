"""What the classes of followed packages define, by name: only such names need a hook where they are used.

If no followed class has ``__mul__``, products are not rewritten. If no followed code sets an attribute ``mean``, then
``x.mean()`` is the method of an array.
"""

from __future__ import annotations

import ast
import dis
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType, SimpleNamespace

import numpy as np

from adjoint.core.box import Box
from adjoint.core.threads.weak import WeakIds
from adjoint.core.types import Value
from adjoint.tape.tensor import Tensor
from adjoint.twin.policy import MODULES, NAMES, WITHIN, Follows, home_of
from adjoint.twin.subclasses.base import MET
from adjoint.twin.syntax.names import BINARY, COMPARISONS
from adjoint.twin.syntax.source import SourceFile

#: Methods and attributes of arrays, numbers, texts and containers: of these names, an object's own are noted.
KNOWN = frozenset(
    name
    for cls in (Tensor, np.ndarray, float, complex, str, list, dict, set, range, np.random.Generator)
    for name in dir(cls)
) - {"grad", "multiply", "solve", "step", "stft", "istft"}  # of objects of SciPy's, too
_CALLED = (FunctionType, classmethod, staticmethod)
_STORES, _EXTENDS = dis.opmap["STORE_ATTR"], dis.opmap["EXTENDED_ARG"]
#: Names by which code sets attributes whose names are texts.
_SETTING = frozenset({"setattr", "__setattr__", "__dict__", "vars", "SimpleNamespace", "Namespace"})


def set_by(code: CodeType) -> Iterator[str]:
    """The names of the attributes that a code sets.

    Read from its instructions, pairs of bytes, since the sources of all followed modules would take seconds to parse.
    """
    operations = code.co_code[::2]
    at = operations.find(_STORES)
    while at >= 0:
        name, before, more = code.co_code[2 * at + 1], at - 1, 8
        while before >= 0 and operations[before] == _EXTENDS:
            name, before, more = name | code.co_code[2 * before + 1] << more, before - 1, more + 8
        yield code.co_names[name]
        at = operations.find(_STORES, at + 1)


class ModuleFacts:
    """The names of methods, and of attributes that run code, in what was looked at.

    `set` are the attributes that its code sets, among the KNOWN; `texts` are its texts, which may be further ones if it
    `sets_any`.
    """

    def __init__(self) -> None:
        self.methods: set[str] = set()
        self.attributes: set[str] = set()
        self.set: set[str] = set()
        self.texts: set[str] = set()
        self.sets_any = False
        #: The functions behind names such as ``__len__``; of classes inside of functions, the names alone.
        self.asked: dict[str, weakref.WeakSet[FunctionType]] = {}
        self.inside: set[str] = set()

    def add(self, other: ModuleFacts) -> None:
        """Note what `other` has noted."""
        self.methods |= other.methods
        self.attributes |= other.attributes
        self.set |= other.set
        self.texts |= other.texts
        self.sets_any |= other.sets_any
        self.inside |= other.inside
        for name, functions in list(other.asked.items()):  # at once: another thread may add to them
            self.asked.setdefault(name, weakref.WeakSet()).update(functions)

    def see_module(self, module: ModuleType, follows: Follows) -> frozenset[str | None]:
        """Note what a module has, of followed ones; the names of all modules that this is of."""
        homes: set[str | None] = set()
        for member, value in list(vars(module).items()):
            if isinstance(value, type):
                homes.update(base.__module__ for base in value.__mro__)
                self.see(value, follows)
            elif isinstance(value, FunctionType):
                homes.add(home := home_of(value))
                if follows[home]:
                    self.methods.add(member)  # the module may be called by another name
                    self.see_code(value.__code__)
            elif isinstance(value, SimpleNamespace):
                self.set.update(KNOWN.intersection(vars(value)))
        return frozenset(homes)

    def see(self, cls: type, follows: Follows) -> None:
        """Note what `cls` defines, and the classes that it stands on."""
        for base in cls.__mro__:
            if follows.cls(base) and not issubclass(base, BaseException | Box):
                if issubclass(base, np.ndarray):
                    self.methods |= _OF_ARRAYS
                    MET.append(base.__qualname__)
                for name, value in list(vars(base).items()):
                    self._note(name, value)
                for fields in ("__dataclass_fields__", "_fields", "__slots__"):
                    names = vars(base).get(fields, ())
                    self.set.update(KNOWN.intersection([names] if isinstance(names, str) else names))

    def see_code(self, code: CodeType) -> None:
        """Note what a code and those in it set."""
        if not KNOWN.isdisjoint(code.co_names):
            self.set.update(KNOWN.intersection(set_by(code)))
        self.sets_any |= not _SETTING.isdisjoint(code.co_names)
        for value in code.co_consts:
            if isinstance(value, CodeType):
                self.see_code(value)
            elif isinstance(value, str | tuple):  # the names of keywords, the keys of a dictionary
                self.texts.update(KNOWN.intersection([value] if isinstance(value, str) else value))

    def _note(self, name: str, value: object) -> None:
        if isinstance(value, _CALLED):
            code = getattr(getattr(value, "__func__", value), "__code__", None)
            if name in _ASKED and isinstance(value, FunctionType):
                self.asked.setdefault(name, weakref.WeakSet()).add(value)
            if isinstance(code, CodeType):
                self.see_code(code)
            if code is None or code.co_filename != "<string>":  # made by dataclasses: they do what they say
                self.methods.add(name)
        elif isinstance(value, property) or isinstance(getattr(type(value), "__get__", None), FunctionType):
            self.attributes.add(name)
            if isinstance(value, property) and isinstance(value.fset, FunctionType):
                self.see_code(value.fset.__code__)
        elif callable(value):
            self.methods.add(name)


class _ModuleReading:
    """What was noted of a module while it had certain members, for each set of followed modules that these are of."""

    def __init__(self, state: tuple[int, ...]) -> None:
        self.state = state
        self.homes: frozenset[str | None] = frozenset()
        self.notes: dict[frozenset[str | None], ModuleFacts] = {}


#: Programs follow the same modules under many policies: each package has its own.
_read: WeakIds[ModuleType, _ModuleReading] = WeakIds()


def facts_of(module: ModuleType, follows: Follows) -> ModuleFacts:
    """What a module has, of followed ones; read anew if it has other members than before."""
    members = list(vars(module).values())
    state = (*map(id, members), *(len(vars(x)) for x in members if isinstance(x, type)))
    read = _read.get(module)
    if read is None or read.state != state:
        read = _ModuleReading(state)
    followed = frozenset(home for home in read.homes if follows[home])
    notes = read.notes.get(followed)
    if notes is None:
        notes = ModuleFacts()
        read.homes = notes.see_module(module, follows)
        read.notes[frozenset(home for home in read.homes if follows[home])] = notes
        _read[module] = read
    return notes


class Facts(ModuleFacts):
    """What is noted of the modules that are followed, and of files."""

    def __init__(self, follows: Follows) -> None:
        super().__init__()
        self.follows = follows
        self._codes: WeakIds[CodeType, bool] = WeakIds()
        self._modules: set[str] = set()
        self._known = 0
        self._files: weakref.WeakSet[SourceFile] = weakref.WeakSet()

    def refreshed(self) -> bool:
        """Look at modules that were loaded since; whether there are new names."""
        if (known := len(MODULES) + len(NAMES)) == self._known:
            return False
        self._known = known
        before = self._sizes()
        self._modules.discard("__main__")  # it may grow
        for name, module in sys.modules.copy().items():  # at once: another thread may import
            if name not in self._modules:
                self._modules.add(name)
                if self.follows[name] and not name.startswith(WITHIN) and isinstance(module, ModuleType):
                    if name == "__main__":
                        self.see_module(module, self.follows)
                    else:
                        self.add(facts_of(module, self.follows))
        return before != self._sizes()

    def _sizes(self) -> tuple[int, ...]:
        asked = sum(map(len, list(self.asked.values())))
        return len(self.methods), len(self.attributes), len(self.set), self.sets_any, asked, len(self.inside)

    def is_set(self, name: str) -> bool:
        """Whether an object may have an attribute of its own of that name."""
        return name in self.set or (self.sets_any and name in self.texts)

    def runs(self, names: Iterable[str], matters: Callable[[Value], bool]) -> bool:
        """Whether a method of one of these names `matters`."""
        return any(n in self.inside or any(map(matters, list(self.asked.get(n, ())))) for n in names)

    def see_code(self, code: CodeType) -> None:
        """The same once for each code."""
        if not self._codes.get(code):
            self._codes[code] = True
            super().see_code(code)

    def see_class(self, cls: type) -> None:
        """Note what `cls` defines, and the classes that it stands on."""
        self.see(cls, self.follows)

    def see_file(self, file: SourceFile | None) -> None:
        """Note what the classes of a file define, those inside of functions too."""
        if file is None or file in self._files:
            return
        self._files.add(file)
        for code in file.codes:
            self.see_code(code)
        for cls in file.classes:
            if any(isinstance(base, ast.Name | ast.Attribute) and _last(base) == "ndarray" for base in cls.bases):
                self.methods |= _OF_ARRAYS
                MET.append(cls.name)
            for node in cls.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    if node.name in _ASKED and cls.col_offset:  # inside of something
                        self.inside.add(node.name)
                    plain = all(isinstance(d, ast.Name) and d.id in _PLAIN for d in node.decorator_list)
                    (self.methods if plain else self.attributes).add(node.name)
                    if not plain:
                        self.methods.add(node.name)


def _last(name: ast.Name | ast.Attribute) -> str:
    return name.id if isinstance(name, ast.Name) else name.attr


# What may run code of a class of arrays, whatever that class defines: of two operands it may be either.
_OF_ARRAYS = frozenset(f"__{way}{name.rstrip('_')}__" for name in BINARY.values() for way in ("", "r"))
_OF_ARRAYS |= {f"__{name}__" for name in COMPARISONS.values()}
_OF_ARRAYS |= {"__array__", "__array_ufunc__", "__array_function__", "__float__", "__complex__", "__new__", "__init__"}
# What Python's syntax asks of objects that it tests, takes apart or looks through.
_ASKED = frozenset({"__bool__", "__len__", "__iter__", "__next__", "__getitem__", "__eq__", "__lt__", "keys"})
_ASKED |= {"__format__", "__str__", "__repr__"}  # by `str.format`
_PLAIN = frozenset({"staticmethod", "classmethod", "abstractmethod"})
