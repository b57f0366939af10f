"""Bad calls of the public functions: transforms, tensors, layers, losses, optimisers, compiled functions."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import adjoint as ad
import adjoint.nn
import adjoint.optim
from tests.bad_calls.judge import leaked
from tests.bad_calls.registry import Unlike

X, M = np.array([0.5, 1.5, 2.5]), np.arange(6.0).reshape(2, 3)


def scalar(x: Any) -> Any:
    return np.sum(np.sin(x) * 2.0)


def vector(x: Any) -> Any:
    return np.sin(x) * 2.0


# Functions of one array that no transform to a gradient can take.
NO_LOSS: dict[str, Callable[..., Any]] = {
    "gives None": lambda x: None,
    "gives a tuple": lambda x: (np.sum(x), np.sum(x)),
    "gives a word": lambda x: "loss",
    "gives a vector": vector,
    "gives a list": lambda x: [np.sum(x)],
    "gives a table": lambda x: {"loss": np.sum(x)},
    "gives a function": lambda x: scalar,
    "gives a thing": lambda x: Unlike(),
    "gives a complex number": lambda x: np.sum(x * 1j),
    "gives a matrix": lambda x: np.outer(x, x),
    "gives an empty array": lambda x: x[:0],
    "takes nothing": lambda: 1.0,
}
NO_FUNCTION = {"None": None, "a number": 3.0, "a word": "f", "an array": X, "a list": [scalar], "a thing": Unlike()}
NO_ARGUMENT = {
    "a word": "x",
    "None": None,
    "whole numbers": np.arange(3),
    "a list of words": ["a"],
    "objects": np.array([Unlike()]),
    "a thing": Unlike(),
    "truth": np.array([True]),
    "dates": np.array(["2020-01-01"], "M8[D]"),
}
ARGNUMS = {
    "1": 1,
    "-2": -2,
    "99": 99,
    "word": "x",
    "None": None,
    "float": 0.5,
    "twice": (0, 0),
    "list of words": ["x"],
    "thing": Unlike(),
    "nothing": (),
}
AXES = {
    "9": 9,
    "-9": -9,
    "word": "x",
    "float": 0.5,
    "two": (0, 0),
    "thing": Unlike(),
    "list": [0, 0],
    "table": {"x": 0},
}
TREES = {
    "fewer": (X,),
    "more": (X, X, X),
    "None": None,
    "word": "v",
    "other shape": (X[:2], X),
    "whole": (np.arange(3), X),
    "thing": Unlike(),
    "table": {"x": X},
}

GRADIENTS = {"grad": ad.grad, "value_and_grad": ad.value_and_grad, "hessian": ad.hessian}
OTHERS = {"jacobian": ad.jacobian, "jacfwd": ad.jacfwd, "jacrev": ad.jacrev, "sparse_jacobian": ad.sparse_jacobian}
TRANSFORMS = {**GRADIENTS, **OTHERS, "vmap": ad.vmap, "sparse_hessian": ad.sparse_hessian}

CALLS: dict[str, Callable[[], Any]] = {}


def add(name: str, call: Callable[[], Any]) -> None:
    """A call that must be refused."""
    assert name not in CALLS, name
    CALLS[name] = call


for (t, transform), (n, f) in itertools.product(GRADIENTS.items(), NO_LOSS.items()):
    add(f"{t} of a function that {n}", lambda transform=transform, f=f: transform(f)(X))
for (t, transform), (n, f) in itertools.product(TRANSFORMS.items(), NO_FUNCTION.items()):
    add(f"{t} of {n}", lambda transform=transform, f=f: transform(f)(X))
for (t, transform), (n, x) in itertools.product({**GRADIENTS, **OTHERS}.items(), NO_ARGUMENT.items()):
    add(f"{t} by {n}", lambda transform=transform, x=x: transform(scalar)(x))
for (t, transform), (n, k) in itertools.product({**GRADIENTS, **OTHERS}.items(), ARGNUMS.items()):
    if (n, t) not in {("nothing", "grad"), ("nothing", "value_and_grad")}:
        add(f"{t} with argnums={n}", lambda transform=transform, k=k: transform(scalar, argnums=k)(X))
for t, transform in TRANSFORMS.items():
    add(f"{t} called with nothing", lambda transform=transform: transform(scalar)())
    add(f"{t} called with a keyword that is not there", lambda transform=transform: transform(scalar)(X, nowhere=1))
    add(f"{t} with a setting that is not there", lambda transform=transform: transform(scalar, nowhere=1)(X))
for n, axis in AXES.items():
    add(f"vmap with in_axes={n}", lambda axis=axis: ad.vmap(vector, in_axes=axis)(M))
    add(f"vmap with out_axes={n}", lambda axis=axis: ad.vmap(vector, out_axes=axis)(M))
for n, size in {"3": 3, "word": "x", "-1": -1, "float": 2.5, "thing": Unlike()}.items():
    add(f"vmap with axis_size={n}", lambda size=size: ad.vmap(vector, axis_size=size)(M))
for n, x in {"a number": 3.0, "a word": "x", "None": None, "a thing": Unlike(), "no axes": np.array(1.0)}.items():
    add(f"vmap over {n}", lambda x=x: ad.vmap(vector)(x))
add("vmap over different lengths", lambda: ad.vmap(np.add)(M, X))
add("vmap of nothing that is batched", lambda: ad.vmap(vector, in_axes=None)(M))
for n, f in {k: NO_LOSS[k] for k in ("gives a word", "gives a function", "gives a thing", "takes nothing")}.items():
    add(f"vmap of a function that {n}", lambda f=f: ad.vmap(f)(M))
for n, tree in TREES.items():
    if n != "whole":
        add(f"jvp with tangents {n}", lambda tree=tree: ad.jvp(np.multiply, (X, X), tree))
    add(f"jvp at primals {n}", lambda tree=tree: ad.jvp(np.multiply, tree, (X, X)))
    if n not in ("None",):
        add(f"hvp with vector {n}", lambda tree=tree: ad.hvp(scalar, X, tree))
        add(f"linearize, pushed {n}", lambda tree=tree: ad.linearize(np.multiply, X, X)[1](tree))
        add(f"vjp, pulled {n}", lambda tree=tree: ad.vjp(vector, X)[1](tree))
for n, f in NO_FUNCTION.items():
    add(f"jvp of {n}", lambda f=f: ad.jvp(f, (X,), (X,)))
    add(f"vjp of {n}", lambda f=f: ad.vjp(f, X))
    add(f"hvp of {n}", lambda f=f: ad.hvp(f, X, X))
    add(f"linearize of {n}", lambda f=f: ad.linearize(f, X))
    if f is not None:  # it decorates then
        add(f"compile of {n}", lambda f=f: ad.compile(f)(X))
    add(f"capture of {n}", lambda f=f: ad.capture(f, X))
    add(f"checkpoint of {n}", lambda f=f: ad.checkpoint(f, X) if f is not None else ad.checkpoint(3.0, X))
    add(f"custom_vjp of {n}", lambda f=f: ad.custom_vjp(f)(X) if f is not None else ad.custom_vjp(3.0))
    add(f"custom_jvp of {n}", lambda f=f: ad.custom_jvp(f)(X) if f is not None else ad.custom_jvp(3.0))
    add(f"differentiable of {n}", lambda f=f: ad.differentiable(f)(X))
    add(f"op of {n}", lambda f=f: ad.op(f)(X))
    add(f"fixed_point of {n}", lambda f=f: ad.fixed_point(f, X))
    add(f"implicit_root of {n}", lambda f=f: ad.implicit_root(f, f)(X))
    add(f"checkpoint_scan of {n}", lambda f=f: ad.checkpoint_scan(f, X, M, snapshots=2))
    add(f"checkpoint_sequential of {n}", lambda f=f: ad.checkpoint_sequential([f], 1, X))
    add(f"custom_linear_solve of {n}", lambda f=f: ad.custom_linear_solve(f, X, f))
for n, f in NO_LOSS.items():
    if n not in ("gives a vector", "gives a complex number"):
        add(f"fixed_point of a function that {n}", lambda f=f: ad.fixed_point(f, X, max_steps=2))
    if n != "takes nothing":
        add(f"hvp of a function that {n}", lambda f=f: ad.hvp(f, X, X))
for n, steps in {"0": 0, "-1": -1, "word": "x", "float": 1.5}.items():
    add(f"checkpoint_sequential in {n} segments", lambda steps=steps: ad.checkpoint_sequential([vector], steps, X))
    add(
        f"checkpoint_scan with {n} snapshots",
        lambda steps=steps: ad.checkpoint_scan(lambda c, x: (c + x, c), 0.0, X, snapshots=steps),
    )
add("custom_vjp without a rule", lambda: ad.grad(lambda x: np.sum(ad.custom_vjp(vector)(x)))(X))
add("custom_jvp without a rule", lambda: ad.jvp(ad.custom_jvp(vector), (X,), (X,)))


# -- Tensors -------------------------------------------------------------------------------------------------


def leaf(x: Any = X) -> Any:
    return ad.tensor(x, requires_grad=True)


for n, x in {**NO_ARGUMENT, "a ragged list": [[1.0], [1.0, 2.0]], "a function": scalar}.items():
    add(f"a leaf of {n}", lambda x=x: ad.tensor(x, requires_grad=True))
for n, d in {"nonsense": "nonsense", "words": str, "objects": object, "5": 5, "dates": "M8[s]"}.items():
    add(f"a leaf of dtype {n}", lambda d=d: ad.tensor([1.0], dtype=d, requires_grad=True))
    if n in ("nonsense", "5"):  # texts and dates are numbers that leave, and are watched as such
        add(f"a leaf as type {n}", lambda d=d: leaf().astype(d))
for n, g in {"other shape": X[:2], "word": "g", "thing": Unlike(), "matrix": M, "dates": np.zeros(3, "M8[s]")}.items():
    add(f"backward from {n}", lambda g=g: (leaf() * 2.0).backward(g))
    add(f"grad = {n}", lambda g=g: setattr(leaf(), "grad", g))
add("backward of a vector", lambda: (leaf() * 2.0).backward())
add("backward of a constant", lambda: ad.tensor(1.0).backward())
add("backward of a complex number", lambda: np.sum(leaf() * 1j).backward())
CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "int": int,
    "np.asarray": np.asarray,
    "np.array of a list": lambda t: np.array([t, t], dtype=float),
    "math.sin": lambda t: __import__("math").sin(t),
    "index": lambda t: [1, 2, 3][t],
    "range": range,
    "complex": complex,
    "json": lambda t: __import__("json").dumps(t),
    "item": lambda t: t.item() if t.size > 1 else [][t],
}
for n, convert in CONVERSIONS.items():
    add(f"{n} of a tensor with a gradient", lambda convert=convert: convert(leaf(X) * 2.0))
INDICES = {
    "99": 99,
    "-99": -99,
    "word": "x",
    "float": 0.5,
    "thing": Unlike(),
    "floats": X,
    "too many": (0, 0, 0, 0),
    "two ellipses": (..., ...),
    "mask": np.ones(7, bool),
    "complex": 1j,
    "table": {"x": 1},
    "slice of words": slice("a", "b"),
    "slice by 0": slice(0, 2, 0),
}
for n, i in INDICES.items():
    add(f"t[{n}]", lambda i=i: leaf(M)[i])
    add(f"t[{n}] = 0", lambda i=i: (leaf(M) * 1.0).__setitem__(i, 0.0))
    add(f"jvp of x[{n}]", lambda i=i: ad.jvp(lambda x: x[i], (M,), (M,)))
    add(f"vmap of x[{n}]", lambda i=i: ad.vmap(lambda x: x[i])(np.stack([M, M])))
    add(f"compiled x[{n}]", lambda i=i: ad.compile(lambda x: x[i])(M))
    add(f"captured x[{n}]", lambda i=i: ad.capture(lambda x: x[i], M))
VALUES = {
    "other shape": np.ones((5, 7)),
    "word": "x",
    "None": None,
    "thing": Unlike(),
    "complex": 1j,
    "ragged": [[1.0], [1.0, 2.0]],
    "table": {"x": 1.0},
}
for n, v in VALUES.items():
    if n != "None":
        add(f"t[0] = {n}", lambda v=v: (leaf(M) * 1.0).__setitem__(0, v))
    for sign in ("add", "mul", "sub", "truediv", "pow", "matmul", "mod", "floordiv"):
        if n != "complex" or sign in ("matmul", "mod", "floordiv"):
            add(f"t.__{sign}__({n})", lambda v=v, sign=sign: getattr(__import__("operator"), sign)(leaf(M), v))
            add(
                f"jvp of __{sign}__({n})",
                lambda v=v, sign=sign: ad.jvp(lambda x: getattr(__import__("operator"), sign)(x, v), (M,), (M,)),
            )
METHODS = {
    "sum": {"axis": [9, "x", 0.5, Unlike()], "keepdims": ["x"]},
    "mean": {"axis": [9, "x", 0.5, Unlike()]},
    "reshape": {"shape": [(7,), "x", (0.5,), (-1, -1), Unlike()]},
    "transpose": {"axes": [(0, 0), (0,), "x", (0, 9)]},
    "max": {"axis": [9, "x", 0.5]},
    "cumsum": {"axis": [9, "x", 0.5]},
    "sort": {"axis": [9, "x"]},
    "take": {"indices": [99, "x", 0.5]},
    "repeat": {"repeats": [-1, "x", 0.5]},
    "astype": {"dtype": ["x", Unlike()]},
    "squeeze": {"axis": [0, 9, "x"]},
    "swapaxes": {"axis1": [9, "x"]},
    "dot": {"b": ["x", np.ones(7), None]},
    "clip": {"min": ["x", np.ones(7)]},
}
for method, settings in METHODS.items():
    for name, values in settings.items():
        for v in values:
            more = (1,) if method == "swapaxes" else ()
            add(
                f"t.{method}({name}={v if not isinstance(v, np.ndarray) else 'array'})",
                lambda method=method, v=v, name=name, more=more: (
                    getattr(leaf(M) * 1.0, method)(**{name: v})
                    if name in ("axis", "keepdims", "dtype")
                    else getattr(leaf(M) * 1.0, method)(v, *more)
                ),
            )
    if method != "astype":  # NumPy's other settings are taken
        add(f"t.{method}(nowhere=1)", lambda method=method: getattr(leaf(M), method)(nowhere=1))


# -- Levels --------------------------------------------------------------------------------------------------


def left_behind(transform: str) -> Any:
    """A value that left a transform which has ended."""
    kept: list[Any] = []
    keep = lambda x: [kept.append(x), np.sum(x * 2.0)][1]
    {
        "grad": lambda: ad.grad(keep)(X),
        "jvp": lambda: ad.jvp(keep, (X,), (X,)),
        "vmap": lambda: ad.vmap(keep)(M),
        "capture": lambda: ad.capture(keep, X),
    }[transform]()
    return kept[0]


for t in ("jvp", "vmap", "capture"):
    add(f"float of what left {t}", lambda t=t: float(left_behind(t)))


# -- Layers and optimisers -----------------------------------------------------------------------------------

for n, s in {"word": "x", "-1": -1, "float": 1.5, "None": None, "thing": Unlike()}.items():
    add(f"Linear({n}, 2)", lambda s=s: ad.nn.Linear(s, 2))
    add(f"Linear(2, {n})", lambda s=s: ad.nn.Linear(2, s))
    add(f"LayerNorm({n})", lambda s=s: ad.nn.LayerNorm(s))
    add(f"Embedding({n}, 2)", lambda s=s: ad.nn.Embedding(s, 2))
for n, p in {"2": 2.0, "-1": -1.0, "word": "x", "nan": np.nan, "thing": Unlike()}.items():
    add(f"Dropout({n})", lambda p=p: ad.nn.Dropout(p)(leaf(M)))
for n, x in {
    "other shape": np.ones((2, 5)),
    "word": "x",
    "None": None,
    "no axes": np.array(1.0),
    "thing": Unlike(),
}.items():
    add(f"Linear of {n}", lambda x=x: ad.nn.Linear(3, 2)(x))
    add(f"LayerNorm of {n}", lambda x=x: ad.nn.LayerNorm(3)(x))
    add(f"Embedding of {n}", lambda x=x: ad.nn.Embedding(3, 2)(x))
    for loss in ("mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy_with_logits", "cross_entropy"):
        if n != "no axes" or loss == "cross_entropy":
            add(f"{loss} against {n}", lambda x=x, loss=loss: getattr(ad.nn, loss)(leaf(M), x))
add("Embedding of 99", lambda: ad.nn.Embedding(3, 2)(np.array([99])))
add("Embedding of floats", lambda: ad.nn.Embedding(3, 2)(X))
add("cross_entropy against class 99", lambda: ad.nn.cross_entropy(leaf(M), np.array([99, 0])))
add("cross_entropy against floats", lambda: ad.nn.cross_entropy(leaf(M), np.array([0.5, 0.5])))
for o in (ad.optim.SGD, ad.optim.Adam, ad.optim.AdamW):
    for n, p in {
        "None": None,
        "word": "x",
        "nothing": [],
        "arrays": [X],
        "a thing": Unlike(),
        "a number": 3.0,
        "computed": [leaf() * 2.0],
    }.items():
        add(f"{o.__name__} of {n}", lambda o=o, p=p: o(p, lr=0.1))
    for n, r in {"-1": -1.0, "word": "x", "nan": np.nan, "None": None, "thing": Unlike(), "array": X}.items():
        add(f"{o.__name__} with lr={n}", lambda o=o, r=r: o([leaf()], lr=r))
    add(f"{o.__name__} with a setting that is not there", lambda o=o: o([leaf()], lr=0.1, nowhere=1))
for n, s in {"backend": {"backend": "x"}, "static": {"static": 5}, "nowhere": {"nowhere": 1}}.items():
    add(f"compile with {n}", lambda s=s: ad.compile(vector, **s)(X))
add("compiled, called with nothing", lambda: ad.compile(vector)())
add("compiled, a word", lambda: ad.compile(vector)("x"))
add("compiled, None", lambda: ad.compile(vector)(None))
add("captured without examples", lambda: ad.capture(vector))
add("captured, another shape", lambda: ad.capture(vector, X)(M))
add("captured, a word", lambda: ad.capture(vector, X)("x"))
for n, text in {
    "a sign": "x +",
    "brackets": "(x",
    "a name": "sin(",
    "None": None,
    "a number": 3.0,
    "two": "x y",
    "a keyword": "lambda x: x",
    "an attribute": "x.__class__",
    "an index": "x[0]",
}.items():
    add(f"expr of {n}", lambda text=text: ad.expr(text)(x=1.0, y=1.0))
add("expr without a variable", lambda: ad.expr("x + y")(x=1.0))
for n in (
    "elu",
    "gelu",
    "hardtanh",
    "leaky_relu",
    "relu",
    "relu6",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "softsign",
    "log_softmax",
    "logsumexp",
):
    for k, v in {"a word": "x", "None": None, "a thing": Unlike(), "words": np.array(["a"])}.items():
        add(f"{n} of {k}", lambda n=n, v=v: getattr(ad, n)(v))
    add(f"{n} called with nothing", lambda n=n: getattr(ad, n)())
    add(f"{n} with a setting that is not there", lambda n=n: getattr(ad, n)(leaf(), nowhere=1))
    if n in ("softmax", "log_softmax", "logsumexp"):
        for k, v in {"9": 9, "word": "x", "float": 0.5, "thing": Unlike()}.items():
            add(f"{n} along {k}", lambda n=n, v=v: getattr(ad, n)(leaf(M), axis=v))


def fault(call: Callable[[], Any]) -> str | None:
    """What is wrong with how a call that must be refused ends; None if it is refused in our words."""
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            value = call()
        except ad.AdjointError as error:
            word = leaked(error)
            return word and f"leaks {word!r}: {error}"
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            word = leaked(error)
            return (word and f"leaks {word!r}: {error}") or (None if str(error) else "no words")
        except Exception as error:
            return f"raises {error!r}"
    return f"silent: {value!r}"
