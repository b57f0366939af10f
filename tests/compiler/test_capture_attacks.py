"""The attacks on compiled functions, on captured ones: a capture changes nothing, and its graph gives what they give.

Each call is captured anew, since a graph freezes what it only reads. What cannot be captured runs as it is.
"""

import numpy as np
import pytest

import adjoint as ad
from adjoint.compiler.backend import Options
from adjoint.compiler.compiled import Compiled
from adjoint.core.objects.trees import flatten

from .attacks.seen import Seen, close
from .attacks.worlds import World
from .test_attacks import ATTACKS, KNOWN, SLOW

IDENTITY = "arguments are values to a graph, so none is another one"
SKIPPED = {
    "library: several threads call it": "the order is another each time",
    "library: a generator made inside without a seed": "it gives other numbers each time",
    "library: the clock": "it gives other numbers each time",
    "classes: weak dictionaries": "it depends on when garbage is collected",
    "library: identity": IDENTITY,
    "sharing: a list given twice, and whether it is one": IDENTITY,
    "sharing: a generator that is a global, too": IDENTITY,
    "sharing: objects of all kinds given twice": IDENTITY,
    "arguments: a closure's array given back": "results are copies",
    "arguments: gradients that add up on an argument": "what a graph writes into its arguments is not written",
    "sharing: a view of a leaf is given back and written": "results are copies",
    "sharing: a view of a constant tensor is given back and written": "results are copies",
    "state: an argument kept as state": "what a graph keeps is a copy",
    "steps: a gradient kept from outside over steps": "what a graph keeps is a copy",
    **{name: "the order is another each time" for name in ATTACKS if name.startswith("threads: ")},
    "equality: a named tuple of a class with a dictionary": "of arguments a graph takes the fields alone",
}
NAMES = [name for name in ATTACKS if name not in (*KNOWN.get(SLOW, ()), *SKIPPED)]


def test_what_is_skipped_is_there():
    assert set(SKIPPED) <= set(ATTACKS)


class Captured(Compiled):
    """What the decorator makes: it tells its world of each call."""

    def __call__(self, *args, **kwargs):
        return self.options.wait.called(self.function, args, kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else type(self)(self.function.__get__(instance, owner), self.options)


Captured.__module__ = Compiled.__module__  # calls of it inside of others are followed


class Life(World):
    """A world whose functions are called, or captured and called as graphs; `log` has what they gave."""

    def __init__(self, *more, capture):
        super().__init__(*more)
        self.capture, self.log, self.inside = capture, [], False

    def compiled(self, f=None, **more):
        if f is None:
            return self.compiled
        made = Captured(f, Options(wait=self))
        self.originals[id(made)] = f
        self.originals["made"].append((made, f))
        self.originals["own"] |= set(vars(made))
        return made

    def called(self, f, args, kwargs):
        if self.inside:
            return f(*args, **kwargs)
        self.inside = True
        try:
            given = numbers((args, kwargs))
            result = self.by_graph(f, args, kwargs) if self.capture else f(*args, **kwargs)
            self.log.append((numbers(result), len(numbers((args, kwargs))) == len(given) and
                             all(map(same, given, numbers((args, kwargs))))))  # fmt: skip
            return result
        except Exception as error:
            self.log.append((type(error).__name__, True))
            raise
        finally:
            self.inside = False

    def by_graph(self, f, args, kwargs):
        before = self.seen()
        try:
            graph = ad.capture(f, *args, **kwargs)
        except Exception:
            graph = f  # refused, or the function itself raises
        assert str(self.seen()) == str(before), "the capture has changed something"
        try:
            return graph(*args, **kwargs)
        except ad.GraphError:
            return f(*args, **kwargs)

    def seen(self):
        seen = Seen(self.space, self.originals)
        for name in sorted(self.space):
            if name[0] != "_" and name not in {"compiled", "FOLDER"}:
                seen.walk(name, self.space[name])
        return seen.tokens


def numbers(tree):
    """Copies of the arrays and numbers in a tree."""
    try:
        leaves = flatten(tree)[0]
    except (ValueError, TypeError, RecursionError):
        return []
    leaves = [x.detach() if isinstance(x, ad.Tensor) else x for x in leaves]
    return [np.array(x) for x in leaves if isinstance(x, ad.Tensor | np.ndarray | np.generic | int | float | complex)]


def same(a, b):
    return a.shape == b.shape and a.dtype == b.dtype and close(a, b, 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_attack_on_a_capture(name, tmp_path):
    path = tmp_path / "captured.py"
    lives = [Life(ATTACKS[name], path, {}, 2, capture=capture) for capture in (False, True)]
    for life in lives:
        trace = life.live()
    assert not [what for what in trace if "the capture has changed" in str(what)]
    for (expected, as_given), (found, _) in zip(*(life.log for life in lives), strict=True):
        if isinstance(expected, str):
            assert found == expected
        if not as_given or isinstance(expected, str):
            return  # what a graph writes into its arguments is not written; what raises may have begun
        assert len(found) == len(expected)
        for a, b in zip(expected, found, strict=True):
            assert same(a, b), f"{a} became {b}\n\n{ATTACKS[name]}"
