"""What the door does with containers: items are read and guarded, writes are kept until the call is over."""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator

import numpy as np

from adjoint.arrays.flat import Flat
from adjoint.compiler.trace.door.items.walking import MAPPINGS, SEQUENCES, Walking
from adjoint.compiler.trace.door.known.fitting import symbols_in
from adjoint.compiler.trace.guards import PLAIN, AttributeBinding
from adjoint.compiler.trace.outside import MISSING, Closed, DictView, Outside, is_users
from adjoint.core.box import Box
from adjoint.core.types import Array, Tree, Value


class Containers(Walking):
    """Items of containers, and their methods."""

    # -- Dictionaries -----------------------------------------------------------------------------------

    def get(self, o: Outside, key: Value) -> Value:
        if o.content is not None:
            return o.content.get(key, MISSING)
        if key in o.over:
            return o.over[key]
        if key not in o.read:
            self.not_of_its_own(key)
            there = key in o.o
            if not there:
                if o.path is None:
                    self.guards.has(o.o, key, False)
                return MISSING
            o.read[key] = self._child(o, key)
        return o.read[key]

    def keys(self, o: Outside) -> list[Value]:
        """The keys of a dictionary, in order."""
        if o.content is not None:
            return list(o.content)
        known, text = list(o.o), self.place_text(o)
        self._listed("keys", o, known, text)
        return [k for k in known if o.over.get(k) is not MISSING] + [
            k for k in o.over if k not in o.o and o.over[k] is not MISSING
        ]

    def changed(self, o: Outside) -> Value:
        """The present content of a container, which may be changed in any way; it is written back as a whole."""
        if o.content is None:
            if isinstance(o.o, MAPPINGS):
                o.content = {k: self.get(o, k) for k in self.keys(o)}
            else:
                o.content = list(self.items(o))
            o.over, o.added = {}, []
        return o.content

    # -- Taken apart ------------------------------------------------------------------------------------

    def it(self, w: object) -> object:
        """What ``*w`` gives."""
        kind = self.kind_of(w)
        return (
            self.table(w) if kind in (set, frozenset) and all(type(e) in PLAIN for e in self.items(w)) else self.lazy(w)
        )

    def with_default(self, o: Value) -> Value:
        """A `defaultdict` as one that was made inside."""
        if not isinstance(o, Outside):
            return o
        factory = self.take(o.o.default_factory, AttributeBinding(o.o, "default_factory"))
        return self.call(self.pinned(defaultdict), (factory, self.mapping(o)), {})

    def mapping(self, w: object) -> Value:
        """What ``**w`` gives."""
        if isinstance(w, Outside) and type(w.o) in MAPPINGS:
            return {k: self.get(w, k) for k in self.keys(w)}
        if isinstance(w, dict):
            return w
        raise self.refuse("it takes keywords from something that is no dictionary")

    def iter(self, w: object, shape: Tree = None) -> Iterator[Value]:
        """Iterate for a loop of the user's."""
        each = self.lazy(w)
        return each if shape is None else (self.unpack(x, shape) for x in each)

    def unpack(self, x: object, shape: Tree) -> object:
        """A value as it is taken apart."""
        if shape is None:
            return x
        try:
            values = self.items(x)
        except TypeError as error:
            name = self.kind_of(x).__name__
            if str(error) != f"{name!r} object is not iterable":
                raise
            raise self.genuine(TypeError(f"cannot unpack non-iterable {name} object")) from None
        if "*" in shape or len(values) != len(shape):
            return values
        return [self.unpack(v, s) for v, s in zip(values, shape, strict=True)]

    def slice(self, start: Array | None, stop: Array | None, step: int | None) -> slice:
        """``start:stop:step``"""
        return slice(start, stop, step)

    # -- Items ------------------------------------------------------------------------------------------

    def _at(self, o: Outside, i: int) -> Value:
        if i in o.over:
            return o.over[i]
        if i not in o.read:
            o.read[i] = self._child(o, i)
        return o.read[i]

    def item(self, o: Value, key: object) -> Value:
        """``o[key]``"""
        kind = type(o)
        if kind is Outside:
            return self._item_outside(o, key)
        if isinstance(o, Box):
            row = self.light.part(self.now(o), key) if self.light is not None else None
            return row if row is not None else self.native(operator.getitem, (self.now(o), self.val(key)), {})
        if isinstance(o, Closed):
            raise self.refuse(f"it takes items of a {o.what}")
        if self.is_made(o):
            return self.call(self.special(o, o, "__getitem__"), (key,), {})
        if isinstance(o, np.ndarray):
            row = self.light.part(o, key) if self.light is not None else None
            if row is None and any(symbols_in(key)):
                raise self.symbolic(o, "it indexes an array that it made by values")
            return row if row is not None else self.native(operator.getitem, (o, self.val(key)), {})
        return self.native(operator.getitem, (o, self._index(key)), {})

    def _index(self, key: object) -> Value:
        if type(key) is slice:
            return slice(*(self.value(x) for x in (key.start, key.stop, key.step)))
        return self.key(key)

    def _place(self, x: object, key: object) -> Value:
        """An index of a list or deque."""
        if type(key) is slice and type(x) is deque:
            raise self.refuse("it takes a part of a deque")
        return self._index(key)

    def _item_outside(self, o: Outside, key: Value) -> object:
        x = o.o
        if type(x) in SEQUENCES:
            key = self._place(x, key)
            if o.content is not None or o.added or type(key) is not int:
                return self.native(operator.getitem, (self.items(o), key), {})
            if not 0 <= key < len(x):
                self._sized(o)
            try:
                return self._at(o, range(len(x))[key])
            except IndexError:
                raise self.genuine(IndexError(f"{type(x).__name__} index out of range")) from None
        if type(x) in MAPPINGS:
            key = self.key(key)
            found = self.get(o, key)
            if found is not MISSING:
                return found
            factory = (
                self.take(x.default_factory, AttributeBinding(x, "default_factory")) if type(x) is defaultdict else None
            )
            if factory is not None:
                made = self.call(factory, (), {})
                self.setitem(o, key, made)
                return made
            raise self.genuine(KeyError(key))
        if isinstance(x, type):
            raise self.refuse(f"it takes an item of the class {x.__name__}")
        if x is np.r_ or x is np.c_:
            return self.rows_together(x, key)
        if is_users(type(x)) and not isinstance(x, dict | list):
            return self.call(self.special(o, x, "__getitem__"), (key,), {})
        raise self.refuse(f"it takes items of a {o.what}")

    def setitem(self, o: object, key: object, value: object) -> None:
        """``o[key] = value``"""
        if isinstance(o, Box) or type(o) is Flat:
            value = self.val(value)
            self.writes_into(o, value)
            if self.light is not None and isinstance(o, Box) and self.light.set_item(o, self.val(key), self.now(value)):
                return
            self.native(operator.setitem, (self.now(o), self.val(key), self.as_written(o, value)), {})
        elif type(o) is Outside:
            self._set_outside(o, key, value)
        elif isinstance(o, Closed):
            raise self.refuse(f"it sets items of a {o.what}")
        elif self.is_made(o):
            self.call(self.special(o, o, "__setitem__"), (key, value), {})
        elif isinstance(o, np.ndarray):
            if any(symbols_in((value, key))):
                raise self.symbolic(o, "it writes into an array that it made")
            self.native(operator.setitem, (o, self.val(key), self.val(value)), {})
        elif type(key) is slice and isinstance(o, list):
            self.native(operator.setitem, (o, self._index(key), self.items(value)), {})
        else:
            self.native(operator.setitem, (o, self._index(key), value), {})

    def _set_outside(self, o: Outside, key: Value, value: Value) -> None:
        x = o.o
        if type(x) in MAPPINGS:
            key = self.key(key)
            if o.content is not None:
                o.content[key] = value
                return
            self.not_of_its_own(key)
            if key not in o.over and o.path is None:
                self.guards.has(x, key, key in x, "sets")
            o.over[key] = value
        elif type(x) in SEQUENCES:
            key = self._place(x, key)
            if o.content is None and type(key) is int and not o.added and -len(x) <= key < len(x):
                self._sized(o)
                o.over[range(len(x))[key]] = value
            else:
                self.setitem(self.changed(o), key, value)
        elif is_users(type(x)) and not isinstance(x, dict | list):
            self.call(self.special(o, x, "__setitem__"), (key, value), {})
        else:
            raise self.refuse(f"it sets items of a {o.what}")

    def delitem(self, o: Outside, key: object) -> None:
        """``del o[key]``"""
        if type(o) is Outside and type(o.o) in (*MAPPINGS, *SEQUENCES):
            self.native(operator.delitem, (self.changed(o), self._place(o.o, key)), {})
        elif isinstance(o, list | dict) and not self.is_made(o):
            self.native(operator.delitem, (o, self._index(key)), {})
        else:
            raise self.refuse("it deletes an item")

    # -- Methods of containers from outside -------------------------------------------------------------

    def container_method(self, o: Outside, name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """A method of a list, dictionary or set from outside."""
        x = o.o
        if type(x) in MAPPINGS:
            return self._dict_method(o, name, args, kwargs)
        if type(x) is deque and name != "copy" and (x.maxlen is not None or name not in ("append", "extend")):
            content = deque(self.changed(o), x.maxlen)
            result = self.plain_method(content, name, args, kwargs)
            o.content = list(content)
            return result
        if type(x) in SEQUENCES:
            if name == "append" and o.content is None:
                o.added.append(args[0])
                return None
            if name == "extend" and o.content is None:
                o.added += self.items(args[0])
                return None
            if name in ("copy", "index", "count"):
                found = self.items(o) if type(x) is not deque else deque(self.items(o), x.maxlen)
                return found if name == "copy" else self.plain_method(found, name, args, kwargs)
            return self.plain_method(self.changed(o), name, args, kwargs)
        if type(x) is set and name in ("union", "intersection", "difference", "copy", "issubset", "issuperset"):
            return self.plain_method(self.table(o), name, args, kwargs)
        raise self.refuse(f"it uses {name} of a {o.what}")

    def _dict_method(self, o: Outside, name: str, args: tuple[object, ...], kwargs: dict[str, Value]) -> object:
        if name in ("keys", "values", "items") and not args:
            return DictView(o, name)
        if name == "get":
            found = self.get(o, self.key(args[0]))
            return found if found is not MISSING else args[1] if len(args) > 1 else kwargs.get("default")
        if name == "setdefault":
            key = self.key(args[0])
            if self.get(o, key) is MISSING:
                self.setitem(o, key, args[1] if len(args) > 1 else None)
            return self.get(o, key)
        if name == "update":
            pairs = self.pairs(args[0]) if args else {}
            for key, value in {**pairs, **kwargs}.items():
                self.setitem(o, key, value)
            return None
        if name == "copy" and type(o.o) is dict:
            return self.mapping(o)
        if name in ("pop", "popitem", "clear", "move_to_end") and type(o.o) is not OrderedDict:
            return self.plain_method(self.changed(o), name, args, kwargs)
        raise self.refuse(f"it uses {name} of a {o.what}")

    def pairs(self, x: Value) -> dict[Value, Value]:
        """What ``dict(x)`` gives."""
        if isinstance(x, dict) or (isinstance(x, Outside) and type(x.o) in MAPPINGS):
            return dict(self.mapping(x))
        if self.is_made(x) or (isinstance(x, Outside) and is_users(type(x.o))):
            try:
                keys = self.attr(x, "keys")
            except AttributeError as error:
                self.check(error)
            else:
                return {self.key(k): self.item(x, k) for k in self.lazy(self.call(keys, (), {}))}
        found = {}
        for pair in self.lazy(x):
            key, value = self.items(pair)
            found[self.key(key)] = value
        return found

    # -- Of the other parts of the door -----------------------------------------------------------------


__all__ = ["MAPPINGS", "SEQUENCES", "Containers"]
