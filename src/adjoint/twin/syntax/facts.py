"""What the classes of followed packages define, by name: only such names need a hook where they are used.

If no followed class has ``__mul__``, products are not rewritten.
"""

from __future__ import annotations

import ast
import sys
import weakref
from types import FunctionType, ModuleType

from adjoint.core.box import Box
from adjoint.twin.policy import MODULES, NAMES, WITHIN, Follows
from adjoint.twin.syntax.source import SourceFile

_CALLED = (FunctionType, classmethod, staticmethod)


class Facts:
    """The names of methods, and of attributes that run code, of the classes that are followed."""

    def __init__(self, follows: Follows) -> None:
        self.follows = follows
        self.methods: set[str] = set()
        self.attributes: set[str] = set()
        self._modules: set[str] = set()
        self._known = 0
        self._files: weakref.WeakSet[SourceFile] = weakref.WeakSet()

    def refreshed(self) -> bool:
        """Look at modules that were loaded since; whether there are new names."""
        if (known := len(MODULES) + len(NAMES)) == self._known:
            return False
        self._known = known
        before = len(self.methods), len(self.attributes)
        self._modules.discard("__main__")  # it may grow
        for name, module in sys.modules.copy().items():  # at once: another thread may import
            if name not in self._modules:
                self._modules.add(name)
                if self.follows[name] and not name.startswith(WITHIN) and isinstance(module, ModuleType):
                    for member, value in list(vars(module).items()):
                        if isinstance(value, type):
                            self.see(value)
                        elif isinstance(value, FunctionType) and self.follows[value.__globals__.get("__name__")]:
                            self.methods.add(member)  # the module may be called by another name
        return before != (len(self.methods), len(self.attributes))

    def see(self, cls: type) -> None:
        """Note what `cls` defines, and the classes that it stands on."""
        for base in cls.__mro__:
            if self.follows[base.__module__] and not issubclass(base, BaseException | Box):
                for name, value in list(vars(base).items()):
                    self._note(name, value)

    def _note(self, name: str, value: object) -> None:
        if isinstance(value, _CALLED):
            code = getattr(getattr(value, "__func__", value), "__code__", None)
            if code is None or code.co_filename != "<string>":  # made by dataclasses: they do what they say
                self.methods.add(name)
        elif isinstance(value, property) or isinstance(getattr(type(value), "__get__", None), FunctionType):
            self.attributes.add(name)
        elif callable(value):
            self.methods.add(name)

    def see_file(self, file: SourceFile | None) -> None:
        """Note what the classes of a file define, those inside of functions too."""
        if file is None or file in self._files:
            return
        self._files.add(file)
        for cls in file.classes:
            for node in cls.body:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    plain = all(isinstance(d, ast.Name) and d.id in _PLAIN for d in node.decorator_list)
                    (self.methods if plain else self.attributes).add(node.name)
                    if not plain:
                        self.methods.add(node.name)


_PLAIN = frozenset({"staticmethod", "classmethod", "abstractmethod"})
