"""Functions with derivatives of their own, written as users write them: what programs call ``own``.

Each rule is right, and each is odd in one way: its cotangents are views of one buffer, numbers of Python's, of another
precision; it keeps nothing, or its result; it takes trees, settings, or gives some.
"""

import numpy as np

import adjoint as ad


def summed_to(g, like):
    """The cotangent of what was broadcast from the shape of `like`."""
    shape = np.shape(like)
    g = np.sum(g, axis=tuple(range(np.ndim(g) - len(shape))))
    once = tuple(i for i, n in enumerate(shape) if n == 1 and np.shape(g)[i] != 1)
    return np.sum(g, axis=once, keepdims=True) if once else g


def realness(g, like):
    return g.real if np.result_type(like).kind != "c" and np.result_type(g).kind == "c" else g


def with_rule(fwd, bwd, **settings):
    """A decorator: a function with a rule of reverse mode."""

    def decorated(f):
        f = ad.custom_vjp(f, **settings)
        f.defvjp(fwd, bwd)
        return f

    return decorated


@with_rule(lambda x: (np.sin(x), x), lambda x, g: (g * np.conj(np.cos(x)),))
def sine(x):
    return np.sin(x)


def _twice(x):
    y = np.exp(x)
    return y, y


@with_rule(_twice, lambda y, g: (g * np.conj(y),))
def exponential(x):
    return np.exp(x)


@with_rule(lambda x: (x * 2.0, None), lambda _, g: (g + g,))
def double(x):
    return x * 2.0


@with_rule(lambda x: (x, None), lambda _, g: (g,))
def same(x):
    return x


@with_rule(lambda x: (x[..., ::-1] if x.ndim else x, None), lambda _, g: (g[..., ::-1] if g.ndim else g,))
def backwards(x):
    return x[..., ::-1] if x.ndim else x


@with_rule(lambda x: (x.T, None), lambda _, g: (g.T,))
def turned(x):
    return x.T


@with_rule(
    lambda x, y: (x * y, (x, y)),
    lambda xy, g: (
        realness(summed_to(g * np.conj(xy[1]), xy[0]), xy[0]),
        realness(summed_to(g * np.conj(xy[0]), xy[1]), xy[1]),
    ),
)
def product(x, y):
    return x * y


@with_rule(
    lambda x, y: (x + y, (x, y)),
    lambda xy, g: (realness(summed_to(g, xy[0]), xy[0]), realness(summed_to(g, xy[1]), xy[1])),
)
def total(x, y):
    """Both arguments may get one buffer."""
    return x + y


@with_rule(lambda x, y: (x - y, None), lambda _, g: (g, -g))
def difference(x, y):
    """Of arrays of one shape and dtype."""
    return x - y


@with_rule(lambda x: (np.sum(x), np.ones_like(x)), lambda ones, g: (np.broadcast_to(g, ones.shape),))
def summed(x):
    """Its cotangent is read-only, and one number in memory."""
    return np.sum(x)


@with_rule(lambda x: (np.sum(x * x), x), lambda x, g: (2 * g * np.conj(x),))
def squares(x):
    return np.sum(x * x)


@with_rule(lambda x: (np.sin(x), x), lambda x, g: (g * np.conj(np.cos(x)) * np.float64(1),))
def wide(x):
    """Its cotangent is in double precision whatever it takes."""
    return np.sin(x)


def _in_single(x, g):
    return ((g * np.conj(-np.sin(x))).astype(np.complex64 if np.iscomplexobj(g) else np.float32),)


@with_rule(lambda x: (np.cos(x), x), _in_single)
def narrow(x):
    """Its cotangent is in single precision whatever it takes."""
    return np.cos(x)


@with_rule(lambda x: ((np.sin(x), np.cos(x)), x), lambda x, g: (np.conj(np.cos(x)) * g[0] - np.conj(np.sin(x)) * g[1],))
def both(x):
    return np.sin(x), np.cos(x)


@with_rule(lambda x: ({"a": x * x, "b": [x]}, x), lambda x, g: (2 * np.conj(x) * g["a"] + g["b"][0],))
def tree(x):
    return {"a": x * x, "b": [x]}


@with_rule(
    lambda xs: (xs["x"] * 2 + xs["y"][0] * 3, None), lambda _, g: ({"x": 2 * g, "y": (3 * g,)},)
)  # of arrays of one shape and dtype
def of_tree(xs):
    return xs["x"] * 2 + xs["y"][0] * 3


@with_rule(lambda n, x: (x**n, x), lambda n, x, g: (n * np.conj(x) ** (n - 1) * g,), nondiff_argnums=0)
def power(n, x):
    return x**n


@with_rule(lambda x, *, scale=1.0: (x * scale, None), lambda _, g, scale: (g * scale,))
def scaled(x, *, scale=1.0):
    return x * scale


@with_rule(lambda x, y: (x * 1.0, None), lambda _, g: (g, None))
def first(x, y):
    """No derivative by its second argument."""
    return x * 1.0


@with_rule(lambda x: (np.abs(x) ** 2, x), lambda x, g: (2 * g * x,))
def modulus(x):
    """Of complex numbers, real numbers."""
    return np.abs(x) ** 2


@with_rule(lambda x: (x * (1 + 2j), x), lambda x, g: (realness(g * (1 - 2j), x),))
def rotated(x):
    """Of real numbers, complex numbers."""
    return x * (1 + 2j)


def _in_place(y, g):
    h = np.ones_like(y)
    h -= np.conj(y * y)
    h *= g
    return (h,)


@with_rule(lambda x: (np.tanh(x), np.tanh(x)), _in_place)
def into(x):
    """Its rule computes in place, in memory of its own."""
    return np.tanh(x)


def _filled(x, g):
    c = np.zeros_like(g)
    c[...] = g
    c *= 3
    return (c,)


@with_rule(lambda x: (x * 3, None), _filled)
def triple(x):
    """Its rule writes in place, into a copy."""
    return x * 3


@ad.custom_jvp
def pushed(x):
    return np.sinh(x)


@pushed.defjvp
def _(primals, tangents):
    return np.sinh(primals[0]), np.cosh(primals[0]) * tangents[0]


@ad.custom_jvp
def pushed_product(x, y):
    return x * y


@pushed_product.defjvp
def _(primals, tangents):
    return primals[0] * primals[1], primals[1] * tangents[0] + primals[0] * tangents[1]


@ad.custom_jvp
def pushed_pair(x):
    return x * 2.0, np.sin(x)


@pushed_pair.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return (x * 2.0, np.sin(x)), (2.0 * t, np.cos(x) * t)


@ad.op
def gate(x, beta=1.0):
    return np.sin(beta * x)


@gate.backward
def _(g, x, beta):
    return g * beta * np.conj(np.cos(beta * x))


@ad.op
def joined(x, y):
    return x * y + x


@joined.backward
def _(g, x, y):
    return (realness(summed_to(g * np.conj(y + 1), x), x), realness(summed_to(g * np.conj(x), y), y))


@ad.op
def kept(x):
    return np.tanh(x)


@kept.backward
def _(g, out):
    return g * np.conj(1 - out * out)


@ad.op
def spread(x):
    return np.sum(x, keepdims=True)


@spread.backward
def _(g, x_shape):
    return np.broadcast_to(g, x_shape)
