"""What the door does with containers: items are read and guarded, writes are kept until the call is over."""

from __future__ import annotations

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from types import GeneratorType

import numpy as np

from adjoint.arrays.flat import Flat
from adjoint.compiler.trace.door.fitting import symbols_in
from adjoint.compiler.trace.door.keys import Keys
from adjoint.compiler.trace.guards import PLAIN, AttributeBinding, Binding, alike
from adjoint.compiler.trace.loops.carried import rows_in
from adjoint.compiler.trace.outside import MISSING, Closed, DictView, Outside, is_users, lookup
from adjoint.core.box import Box
from adjoint.core.types import Array, Tree, Value
from adjoint.graph.symbol import Symbol

SEQUENCES, MAPPINGS = (list, deque), (dict, OrderedDict, defaultdict)

# What a program goes through by its keys.
_OF_KEYS: tuple[type, ...] = (dict, OrderedDict, defaultdict, set, frozenset, type({}.keys()))
_ITEMS: type = type({}.items())


class Containers(Keys):
    """Items and iteration."""

    def place_text(self, o: Outside) -> Value:
        """How a container is found, in a condition."""
        thing, path = o.o, o.path
        return lambda name_of: name_of(thing) if path is None else path

    def _child(self, o: Outside, key: Value) -> Value:
        value = o.o[key]
        return self.take(value, Binding(o.o, key)) if o.path is None else self.given(value, f"{o.path}[{key!r}]")

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

    # -- Any container ----------------------------------------------------------------------------------

    def _sized(self, o: Outside) -> None:
        count, text = len(o.o), self.place_text(o)
        if o.path is None:
            self.guards.text(("len", id(o.o)), lambda name_of: f"len({text(name_of)}) == {count}")

    def _listed(self, why: str, o: Outside, known: list[Value], text: Value) -> None:
        """A container goes through these very keys, in this order; of what is equal, another type is another key."""

        def line(name_of: Value) -> str:
            there = f"[*{text(name_of)}]"
            if all(type(key) is str for key in known):
                return f"{there} == {name_of(known)}"  # many loops ask this, so it has to be quick
            return f"{name_of(alike)}({there}, {name_of(known)})"

        self.guards.text((why, id(o.o)), line)

    def items(self, w: object) -> list[Value]:
        """The elements of anything that can be gone through."""
        return list(self.lazy(w))

    def lazy(self, w: Value) -> Iterator[Value]:
        """An iterator over anything that can be gone through."""
        kind = type(w)
        if kind is Outside:
            return self._outside(w)
        if kind is DictView:
            return self._viewed(w)
        if kind in _OF_KEYS:
            return map(self.from_key, w)
        if kind is _ITEMS:
            return ((self.from_key(k), v) for k, v in w)
        if isinstance(w, Symbol) and not isinstance(w.value, np.ndarray):
            return iter(w.value)  # which says that numbers have no elements
        if self.is_made(w):
            return self._iterator(w, w)
        if self.loops is not None and (rows := rows_in(w)) is not None:
            return (self.item(w, i) for i in range(rows))
        if isinstance(w, GeneratorType | Box) or kind in PLAIN or hasattr(w, "__iter__"):
            if isinstance(w, Closed):
                raise self.refuse(f"it goes through a {w.what}")
            try:
                return iter(w)
            except TypeError as error:
                raise self.genuine(error) from None
        if isinstance(w, Closed):
            raise self.refuse(f"it goes through a {w.what}")
        raise self.genuine(TypeError(f"{kind.__name__!r} object is not iterable"))

    def _outside(self, w: Outside) -> Iterator[object]:
        x = w.o
        if type(x) in SEQUENCES:
            return self._grows(w)
        if type(x) in MAPPINGS:
            return self._walked(w)
        if type(x) is set:
            if not all(type(e) in PLAIN for e in x) or w.changed:
                raise self.refuse("it goes through a set of objects")
            listed, text = list(x), self.place_text(w)
            self._listed("set", w, listed, text)
            return iter(listed)
        members = getattr(x, "__members__", None)
        if isinstance(x, type) and members is not None:
            return iter([self.pinned(e) for e in dict.fromkeys(members.values())])
        if not is_users(type(x)) or isinstance(x, dict | list):
            raise self.refuse(f"it goes through a {w.what}")
        if lookup(type(x), "__iter__") is not MISSING:
            return self._iterator(w, x)
        count = self.call(self.special(w, x, "__len__"), (), {})
        return (self.item(w, i) for i in range(count))

    def _iterator(self, w: Value, x: object) -> Iterator[Value]:
        found = self.call(self.special(w, x, "__iter__"), (), {})
        if not hasattr(found.o if isinstance(found, Outside) else found, "__next__"):
            raise self.refuse(f"__iter__ of a {type(x).__name__} gives no iterator")
        return self.lazy(found)

    def _grows(self, w: Outside) -> Iterator[Value]:
        """A list, which may grow while it is gone through."""
        self._sized(w)
        count, i = len(w.o), 0
        while i < (count + len(w.added) if w.content is None else len(w.content)):
            if w.content is not None:
                yield w.content[i]
            else:
                yield self._at(w, i) if i < count else w.added[i - count]
            i += 1

    def _walked(self, w: Outside) -> Iterator[object]:
        """The keys of a dictionary, which must not grow while it is gone through."""
        keys = self.keys(w)
        for key in keys:
            yield self.from_key(key)
            if w.changed and self.keys(w) != keys:
                raise self.refuse("it changes a dictionary while it goes through it")

    def _viewed(self, w: DictView) -> Iterator[object]:
        for found in self._walked(w.of):
            key = self.key(found)
            value = None if w.kind == "keys" else self.get(w.of, key)
            yield found if w.kind == "keys" else value if w.kind == "values" else (found, value)

    def it(self, w: object) -> object:
        """What ``*w`` gives."""
        return self.lazy(w)

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

    def _item_outside(self, o: Outside, key: Value) -> object:
        x = o.o
        if type(x) in SEQUENCES:
            key = self._index(key)
            if o.content is not None or o.added or type(key) is slice or type(key) is not int:
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
            key = self._index(key)
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
            self.native(operator.delitem, (self.changed(o), self._index(key)), {})
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
            return self.plain_method(set(self.items(o)), name, args, kwargs)
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
        found = {}
        for pair in self.lazy(x):
            key, value = self.items(pair)
            found[self.key(key)] = value
        return found

    # -- Of the other parts of the door -----------------------------------------------------------------


__all__ = ["MAPPINGS", "SEQUENCES", "Containers"]
