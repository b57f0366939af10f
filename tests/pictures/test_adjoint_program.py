"""The text of a backward pass, run: the same numbers as the tape's, bit for bit."""

import numpy as np
import pytest
import scipy.special

import adjoint as ad


def run(text, *args):
    namespace = {}
    exec(text, namespace)
    (function,) = (f for name, f in namespace.items() if name.endswith("_and_gradient"))
    return function(*args)


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    assert a.tobytes() == b.tobytes()


def staged(x, y):
    sigmoid = 1 / (1 + np.exp(-y))
    return (x + sigmoid) / (1 / (1 + np.exp(-x)) + (x + y) ** 2)


def in_place(x):
    y = x.copy()
    y[1:] *= 2
    y[0] = y[1] * 3
    y[::2] += x[::2] ** 2
    return np.sum(y * x)


def through_views(x):
    y = x.copy()
    turned = y.T
    turned[0] = np.sin(turned[1])
    turned[1:, 0] -= 1.5
    return np.sum(y**3)


def control_flow(x):
    total = x[0]
    for i in range(1, len(x)):
        if i % 2:
            continue
        while total < x[i]:
            total = total * 2 + 0.1
        total = total + np.sin(x[i])
    return total


def attention(q, k, v):
    scores = q @ k.T / np.sqrt(k.shape[-1])
    weights = np.exp(scores - np.max(scores, axis=1, keepdims=True))
    return np.sum((weights / np.sum(weights, axis=1, keepdims=True)) @ v)


def mlp(p, x):
    return np.mean((np.tanh(x @ p["w"] + p["b"]) @ p["v"]) ** 2)


def recurrent(w, xs):
    h = np.zeros(3)
    for x in xs:
        h = np.tanh(w @ h + x)
    return h @ h


def gathered(x):
    return np.sum(x[[0, 2, 2, 1]] * np.array([1.0, 2.0, 3.0, 4.0])) + np.take(x, [1, 1]).prod()


MATRIX = np.array([[2.0, 0.3, -0.1], [0.2, 1.5, 0.4], [0.0, -0.6, 1.1]])
VECTOR = np.array([0.7, -1.3, 2.1, 0.4])
rng = np.random.default_rng(0)
PARAMETERS = {"w": rng.normal(size=(3, 4)), "b": np.ones(4), "v": rng.normal(size=4)}
PROGRAMS = {
    "staged": (staged, (3.0, -4.0), (0, 1)),
    "quadratic": (lambda x, y: 3 * x**2 + x * y + 5 * y**2, (2.0, 3.0), (0, 1)),
    "in place": (in_place, (VECTOR,), 0),
    "views": (through_views, (MATRIX,), 0),
    "control flow": (control_flow, (np.abs(VECTOR),), 0),
    "attention": (attention, tuple(rng.normal(size=(3, 4, 5))), (0, 1, 2)),
    "mlp": (mlp, (PARAMETERS, rng.normal(size=(6, 3))), 0),
    "recurrent": (recurrent, (MATRIX, rng.normal(size=(5, 3))), (0, 1)),
    "indices": (gathered, (VECTOR,), 0),
    "mask": (lambda x: np.sum(x[x > 0] ** 2), (VECTOR,), 0),
    "where": (lambda x: np.sum(np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), x**2)), (VECTOR,), 0),
    "reductions": (lambda x: np.max(x) + np.std(x) * np.prod(x) - np.mean(x, axis=0).min(), (MATRIX,), 0),
    "norms": (lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=1).sum() + np.linalg.norm(x, 3, 0)[0], (MATRIX,), 0),
    "inverse": (lambda x: np.trace(np.linalg.inv(x)), (MATRIX,), 0),
    "solve": (lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (MATRIX, VECTOR[:3]), (0, 1)),
    "determinant": (lambda a: np.log(np.linalg.det(a)) + np.linalg.slogdet(a)[1], (MATRIX,), 0),
    "eigenvalues": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 3), (MATRIX + MATRIX.T,), 0),
    "svd": (lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 1.5), (MATRIX,), 0),
    "einsum": (lambda a: np.einsum("ij,jk,ki->", a, a, MATRIX), (MATRIX,), 0),
    "cumulative": (lambda x: np.cumsum(x**2)[-2] * np.cumprod(x)[2], (VECTOR,), 0),
    "joined": (lambda x: np.sum(np.concatenate([x[:2], x[::-1]]) ** 2) + np.stack([x, x])[1, 2], (VECTOR,), 0),
    "sorted": (lambda x: np.sort(x)[1] * np.median(x), (VECTOR,), 0),
    "special": (lambda x: np.sum(scipy.special.gammaln(np.abs(x)) + scipy.special.erf(x)), (VECTOR,), 0),
    "float32": (lambda x: np.sum(np.sqrt(np.abs(x)) * 3.0), (VECTOR.astype(np.float32),), 0),
    "two precisions": (lambda a, x: np.sum(np.float32(2) * a * x), (np.float64(1.5), VECTOR.astype("f4")), (0, 1)),
    "complex": (lambda z: np.sum(np.abs(z * np.exp(1j * z)) ** 2), (VECTOR + 1j,), 0),
    "softmax": (lambda x: ad.softmax(x)[1] + ad.log_softmax(x)[2] + np.sum(ad.relu(x)), (VECTOR,), 0),
    "hessian-vector": (lambda x: ad.grad(lambda y: np.sum(np.sin(y) * y))(x) @ x, (VECTOR,), 0),
    "large": (lambda x: np.sum(ad.relu(x) ** 2), (rng.normal(size=4000),), 0),
}  # fmt: skip

SHORT_WAYS = {"solve", "determinant"}  # of arrays, rules take a way that no graph takes: by LAPACK's factors


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_computes_what_the_tape_does(name):
    f, args, argnums = PROGRAMS[name]
    value, gradient = ad.value_and_grad(f, argnums)(*args)
    leaves = [x for arg in args for x in ([arg[key] for key in sorted(arg)] if isinstance(arg, dict) else [arg])]
    found, gradients = run(ad.adjoint_source(f, *args, argnums=argnums), *leaves)
    same(found, value)
    if isinstance(gradient, dict):
        gradient = tuple(gradient[key] for key in sorted(gradient))
    if not isinstance(gradient, tuple):
        gradient, gradients = (gradient,), (gradients,)
    assert len(gradient) == len(gradients)
    for a, b in zip(gradients, gradient, strict=True):
        if name in SHORT_WAYS:
            np.testing.assert_allclose(a, b, rtol=1e-13)
        else:
            same(a, b)
    graph = ad.capture(ad.value_and_grad(f, argnums), *args)
    for a, b in zip(gradients, graph.run(leaves)[1:], strict=True):
        same(a, b)


@pytest.mark.parametrize("name", ["staged", "in place", "views", "mlp", "inverse", "indices", "svd", "where"])
def test_common_programs_need_nothing_but_numpy(name):
    f, args, argnums = PROGRAMS[name]
    text = ad.adjoint_source(f, *args, argnums=argnums)
    assert [line for line in text.splitlines() if "import" in line] == ["import numpy as np"]
    assert "operation" not in text


def test_special_functions_are_scipys():
    f, args, _ = PROGRAMS["special"]
    text = ad.adjoint_source(f, *args)
    assert "import scipy.special\n" in text
    assert "scipy.special.gammaln(" in text


def test_what_numpy_has_no_call_for_is_looked_up():
    text = ad.adjoint_source(lambda x: np.sum(ad.gelu(x)), VECTOR)
    assert "from adjoint.core.registry import operation" in text
    same(run(text, VECTOR)[1], ad.grad(lambda x: np.sum(ad.gelu(x)))(VECTOR))


def test_of_several_numbers_the_cotangent_is_an_argument():
    def f(x, y):
        return np.sin(x) * y, x @ y

    g = (np.arange(4.0), np.float64(2.0))
    other = VECTOR + 1
    text = ad.adjoint_source(f, VECTOR, other, argnums=(0, 1))
    first, second, cotangents = run(text, VECTOR, other, *g)
    value, pullback = ad.vjp(f, VECTOR, other)
    for a, b in zip((first, second, *cotangents), (*value, *pullback(g)), strict=True):
        same(a, b)


def test_each_line_says_where_it_comes_from():
    text = ad.adjoint_source(staged, 3.0, -4.0, argnums=(0, 1))
    before, after = text.split("    # Backward\n")
    assert "sigmoid = 1 / (1 + np.exp(-y))" in before
    assert "return (x + sigmoid) / " in before
    forward = [line.strip() for line in before.splitlines() if line.startswith("    v")]
    said = [line.strip()[2:] for line in after.splitlines() if line.startswith("    # ")]
    assert said[0] == forward[-1]
    assert sorted(said) == sorted(forward)
    assert "d_x = " in after
    assert "d_y = " in after


def test_writes_are_told_apart():
    text = ad.adjoint_source(in_place, VECTOR)
    after = text.split("# Backward\n")[1]
    writes = [line.strip() for line in after.splitlines() if "    # " in line and "] = v" in line]
    assert len(writes) == len(set(writes)) >= 3


def test_whole_numbers_are_part_of_the_program():
    text = ad.adjoint_source(lambda x, n: np.sum(x**n), VECTOR, 3)
    assert "_and_gradient(x):" in text
    assert "np.power(x, 3)" in text


def test_state_outside_is_refused():
    class Counter:
        def __init__(self):
            self.seen = np.zeros(2)

        def __call__(self, x):
            self.seen = self.seen + x
            return np.sum(self.seen * x)

    with pytest.raises(ad.NotSupportedError, match="to_source"):
        ad.adjoint_source(Counter(), np.ones(2))
