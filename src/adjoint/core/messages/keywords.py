"""Keyword arguments that PyTorch has and adjoint does not: taken where they change nothing, answered elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import NamedTuple, cast

from adjoint.core.types import C, Value


class Keyword(NamedTuple):
    """What becomes of an argument: `harmless` values are left out (None: all of them), others get the sentence."""

    harmless: tuple[object, ...] | None
    sentence: str = ""


_NO_SWITCH = Keyword(None)  # how PyTorch's kernels are chosen; the result is the same

KEYWORDS: dict[str, Keyword] = {
    "foreach": _NO_SWITCH,
    "fused": _NO_SWITCH,
    "capturable": _NO_SWITCH,
    "enable_nested_tensor": _NO_SWITCH,
    "mask_check": _NO_SWITCH,
    "unsafe": _NO_SWITCH,
    "differentiable": Keyword((False,), "steps that are differentiated are in optim.functional"),
    "verbose": Keyword((False, None, "deprecated"), "print(scheduler.get_last_lr())"),
    "sparse": Keyword((False,), "gradients are dense: leave it out"),
    "generator": Keyword((None,), "rng=, a seed or one of NumPy's generators"),
    "_weight": Keyword((None,), "nn.Embedding.from_pretrained(weight), nn.EmbeddingBag.from_pretrained(weight)"),
    "_freeze": Keyword((False,), "nn.Embedding.from_pretrained(weight, freeze=True)"),
    "min_value": Keyword((None,), "min_val="),
    "max_value": Keyword((None,), "max_val="),
    "out": Keyword((None,), "target[...] = the result"),
}


def answering(function: C) -> C:
    """`function`, which takes PyTorch's keyword arguments too: see `KEYWORDS`.

    ``size_average`` and ``reduce`` are said as ``reduction``. A method, which makes a module, takes ``device``.
    """
    given = signature(function).parameters
    if any(p.kind is Parameter.VAR_KEYWORD for p in given.values()):
        return function
    names = tuple(given)

    @wraps(function)
    def taking(*args: Value, **kwargs: Value) -> Value:
        for word in kwargs:
            if word not in names:
                return _translated(function, names, args, kwargs)
        return function(*args, **kwargs)

    return cast(C, taking)


class Answering:
    """A base of classes whose `__init__` takes PyTorch's keyword arguments too."""

    def __init_subclass__(cls, **options: Value) -> None:
        super().__init_subclass__(**options)
        if cls.__module__.startswith("adjoint.") and "__init__" in vars(cls):
            cls.__init__ = answering(cls.__init__)  # type: ignore[method-assign]  # it takes more arguments


def _translated(
    function: Callable[..., Value], names: tuple[str, ...], args: tuple[Value, ...], kwargs: Value
) -> Value:
    """What `function` gives for arguments of which some are PyTorch's."""
    said, device = _in_our_words(kwargs, names, function.__qualname__)
    result = function(*args, **said)
    if device is not None:
        args[0].to(device=device)
    return result


def _in_our_words(kwargs: dict[str, Value], names: Value, function: str) -> tuple[dict[str, Value], Value]:
    said = {word: value for word, value in kwargs.items() if word in names}
    device = None
    for word in kwargs.keys() - said.keys():
        known = KEYWORDS.get(word)
        if word in ("size_average", "reduce") and "reduction" in names:
            all_of_them = kwargs.get("reduce") is False
            one = "sum" if kwargs.get("size_average") is False else "mean"
            said["reduction"] = "none" if all_of_them else one
        elif word == "device" and function.endswith("__init__"):
            device = kwargs[word]
        elif known is None:
            raise TypeError(
                f"{function}() got an unexpected keyword argument {word!r}; it takes "
                f"({', '.join(name for name in names if name != 'self')})"
            )
        elif known.harmless is not None and not any(kwargs[word] is value for value in known.harmless):
            raise TypeError(f"{function}() has no {word}={kwargs[word]!r}. Here it is: {known.sentence}")
    return said, device
