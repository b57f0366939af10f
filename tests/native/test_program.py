"""Programs run natively give what the graph's own evaluation gives, whatever their arguments look like."""

import gc
import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adjoint as ad
from adjoint import native
from adjoint.core.errors import AdjointError, ArgumentError
from adjoint.core.op import Op
from adjoint.core.registry import ENTRIES
from adjoint.native.plan.classify import kind_of
from adjoint.native.plan.rewriting.decompose import primitive

R = np.random.default_rng(0)


def built(f, *examples):
    with np.errstate(all="ignore"):
        graph = ad.capture(f, *examples).rewritten()
    return graph, native.build(graph.inputs, graph.outputs)


def check(f, *args, rtol=1e-12, atol=1e-300, native_only=True):
    """`f` natively, against its graph evaluated by NumPy; twice, for equal bits and new arrays."""
    graph, program = built(f, *args)
    with np.errstate(all="ignore"):
        expected = [np.asarray(v) for v in graph.run(list(args))]
    got, again = program(*args), program(*args)
    assert len(got) == len(expected)
    for value, other, right in zip(got, again, expected, strict=True):
        assert type(value) is np.ndarray
        assert (value.shape, value.dtype) == (right.shape, right.dtype)
        assert value.flags.owndata
        np.testing.assert_array_equal(value, other)
        assert not np.shares_memory(value, other)
        np.testing.assert_allclose(value, right, rtol=rtol, atol=atol)
    if native_only:
        assert not program.listing().count("NumPy"), str(program.listing())
    return program


@pytest.mark.parametrize("shape", [(5,), (1,), (3, 70), (70, 3), (2, 33, 17), (4, 1, 9), (2, 3, 4, 5)], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.bool_])
def test_reductions_along_every_axis(shape, dtype):
    x = (R.normal(size=shape) * 3).astype(dtype)
    rtol = 2e-5 if dtype is np.float32 else 1e-12
    for count in range(1, len(shape) + 1):
        for axes in itertools.combinations(range(len(shape)), count):
            check(
                lambda x: (np.sum(x, axis=axes), np.max(x, axis=axes, keepdims=True), np.min(x, axis=axes)),
                x, rtol=rtol, atol=1e-5,
            )  # fmt: skip
            check(lambda x: (np.mean(x * 2, axis=axes), np.any(x > 1, axis=axes)), x, rtol=rtol, atol=1e-5)


def test_extremes_of_nan_and_infinities():
    x = np.array([[1.0, np.nan, 2.0], [-np.inf, -np.inf, -np.inf], [np.inf, 1.0, 0.0]])
    check(lambda x: (np.max(x, axis=1), np.min(x, axis=1), np.sum(x, axis=0), np.max(x)), x)


def test_sums_of_negative_zeros_have_numpys_sign():
    x = np.full((3, 20), -0.0)
    for f in (np.sum, lambda x: np.sum(x, axis=1), lambda x: np.mean(x, axis=0)):
        (total,) = check(f, x)(x)
        np.testing.assert_array_equal(np.signbit(total), np.signbit(f(x)))


def test_long_sums_are_accurate():
    x = np.full(10**6, 0.1, np.float32)
    (total,) = built(np.sum, x)[1](x)
    assert abs(float(total) - 1e5) < 1


def layouts(x):
    """`x` in other places of memory: the same values."""
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
    wide[..., ::2] = x
    yield np.asfortranarray(x)
    yield wide[..., ::2]
    yield np.ascontiguousarray(x[::-1])[::-1]
    yield x.astype(x.dtype.newbyteorder())
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    shifted[...] = x
    yield shifted


def test_arguments_of_any_layout():
    x, y = R.normal(size=(7, 12)), R.normal(size=12)
    graph, program = built(lambda x, y: (np.exp(x) * y, np.sum(x * y, axis=0), x.T @ x), x, y)
    expected = graph.run([x, y])
    for other in layouts(x):
        for got, right in zip(program(other, y), expected, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-12)
    zero_strides = np.broadcast_to(y, (7, 12))
    for got, right in zip(program(zero_strides, y), graph.run([zero_strides, y]), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-12)


def test_arguments_of_other_kinds():
    x = R.normal(size=(3, 4))
    _, program = built(lambda x: np.exp(x), x)
    described = x.astype(np.dtype(np.float64, metadata={"unit": "m"}))
    for other in (
        described,
        x.view(type("Own", (np.ndarray,), {})),
        x.tolist(),
        x.astype(np.float16).astype(object),
        np.ma.array(x),
    ):
        np.testing.assert_allclose(program(other)[0], np.exp(x), rtol=2e-3)


def test_one_array_as_several_arguments_and_results():
    x = R.normal(size=(4, 5))
    program = check(lambda x, y: (x + y, x, x, y[1:], x * y), x, x)
    got = program(x, x)
    assert not np.shares_memory(got[1], got[2])
    got[1][:] = 0
    assert x.all()


def test_numbers_and_single_elements():
    check(lambda x, y: (x * y + 1, np.sin(x) / y), 1.5, 2.5)
    check(lambda x: (x + 1.0, np.sum(x), np.exp(x).reshape(())), R.normal(size=(1, 1)))
    check(lambda x, y: x * y, R.normal(size=(3, 4)), 2.0)
    _, program = built(lambda x: x * 2, 1.0)
    for number in (3.0, np.float64(3), np.float32(3), 3, np.array(3.0)):
        assert program(number) == [6.0]


def test_broadcasting():
    a, b, c = R.normal(size=(3, 1, 5)), R.normal(size=(4, 1)), R.normal(size=5)
    check(lambda a, b, c: (a * b + c, np.broadcast_to(b, (2, 4, 6)), np.sum(a * b * c, axis=(0, 2))), a, b, c)


def test_views_are_read_through_their_strides():
    x = R.normal(size=(6, 8))
    check(
        lambda x: (
            x[1:5, ::-2] + 1, x.T * 2, np.swapaxes(x, 0, 1)[3], np.flip(x) - x, x.reshape(4, 12).T.reshape(-1) * 3,
            x[2, 3], np.expand_dims(x, 0)[..., None], x.T.reshape(8, 2, 3)[::-1], np.exp(x)[:, 1:].T + x[0, 0],
        ),
        x,
    )  # fmt: skip


def test_arrays_put_together():
    x, y = R.normal(size=(3, 4)), R.normal(size=(2, 4))
    check(lambda x, y: (np.concatenate([x, y * 2]), np.stack([x[:2], y], -1), np.concatenate([x.T, y.T], 1)), x, y)
    check(ad.grad(lambda x: np.sum(x[1:, ::-2] ** 2) + x[0, 0] * np.sum(x[:, 1])), x)


def test_products():
    shapes = [((3, 4), (4, 2)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((2, 3, 4), (4, 5)),
              ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((1, 4), (4, 1)), ((3, 1), (1, 2)),
              ((2, 3, 1), (2, 1, 3))]  # fmt: skip
    for a, b in shapes:
        for dtype, rtol in ((np.float64, 1e-12), (np.float32, 1e-4)):
            x, y = R.normal(size=a).astype(dtype), R.normal(size=b).astype(dtype)
            check(np.matmul, x, y, rtol=rtol, atol=1e-5 if dtype is np.float32 else 1e-12)
    x, y = R.normal(size=(6, 5)), R.normal(size=(6, 7))
    check(lambda x, y: (x.T @ y, x[::2].T @ y[1::2], (y.T @ x[:, ::-1]).T, x[:, ::2].T @ y, x @ x.T), x, y)


def test_dtypes():
    i, b, f = R.integers(-5, 5, (3, 4)), R.random((3, 4)) < 0.5, R.normal(size=(3, 4)).astype(np.float32)
    check(lambda i, b, f: (i + b, i * f, f + 1.5, np.where(b, i, 2), i > 0, np.logical_and(b, i), i // 1 * b), i, b, f,
          native_only=False)  # fmt: skip
    check(lambda i, b, f: (f.astype(np.float64) * i, i.astype(np.float32), b & (i < 2), ~b, -i, abs(i)), i, b, f)
    check(lambda x: (x + 1, np.sum(x), x * 2.0), np.arange(5, dtype=np.uint8))


def test_what_has_no_lowering_is_left_to_numpy():
    x = R.normal(size=(5, 5))
    program = check(
        lambda x: np.sum(np.partition(np.exp(x), 1, axis=0) * 2) + np.sum(np.linalg.eigvalsh(x)), x, native_only=False
    )
    left = [(row.writes[0].formula, row.reason) for row in program.listing().rows if row.by == "NumPy"]
    assert [reason for _, reason in left] == ["no lowering"] * 2
    assert sorted(formula.partition("(")[0] for formula, _ in left) == ["partition", "symmetric_eigenvalues"]
    z = R.normal(size=4) + 1j
    check(lambda z: np.abs(z * z) + 1.0, z, native_only=False)
    check(lambda h: h * h + 1, R.normal(size=4).astype(np.float16), native_only=False)
    check(lambda x: np.linalg.solve(x, x[0]) * 2, x, native_only=False, rtol=1e-9)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)], ids=str)
def test_empty_arrays(shape):
    check(lambda x: (np.exp(x) + 1, np.sum(x), np.sum(x, axis=0)), np.zeros(shape), native_only=False)


def test_wrong_calls():
    _, program = built(lambda x, y: x + y, np.ones(3), np.ones(3))
    with pytest.raises(ArgumentError, match="takes 2 arrays; got 1"):
        program(np.ones(3))
    with pytest.raises(ArgumentError, match=r"shape \(3,\)"):
        program(np.ones(4), np.ones(3))


def test_gradients_and_a_whole_step():
    from adjoint import nn

    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 3))
    optimizer = ad.optim.Adam(model.parameters(), lr=1e-2)

    def step(x, y):
        loss = nn.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    x, y = R.normal(size=(16, 4)), np.arange(16) % 3
    step(x, y)
    graph = ad.capture(step, x, y).rewritten()
    program = native.build(graph.inputs, graph.outputs)
    assert not program.listing().count("NumPy"), str(program.listing())
    values = [np.asarray(v) for v in (x, y, *graph.state.read())]
    values = [v for v in values if v.dtype.kind in "fib"][: len(graph.inputs)]
    for got, right in zip(program(*values), graph.run(values), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-12)


def differentiable_elementwise():
    for name, op in sorted(ENTRIES.items()):
        if type(op) is Op and op.samples and not op.multiple and op.kind != "constant":
            yield name


@pytest.mark.parametrize("name", list(differentiable_elementwise()))
def test_every_operation_gives_what_it_gives_eagerly(name):
    op = ENTRIES[name]

    def r(*shape, low=-1.0, high=1.0):
        return np.random.default_rng(1).uniform(low, high, shape) if shape else float(low + 0.3 * (high - low))

    for sample in op.samples(r):
        args, given = op.bind(sample.args, sample.kwargs)
        if not all(isinstance(a, np.ndarray | float) for a in args):
            continue
        try:
            graph = ad.capture(lambda *xs: op(*xs, **given), *args)
        except AdjointError:
            continue
        program = native.build(graph.inputs, graph.outputs)
        values = [a for a in args if isinstance(a, np.ndarray | float)]
        for got, right in zip(program(*values), graph.run(values), strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-11, atol=1e-13)


# -- Random programs ----------------------------------------------------------------------------------

UNARY = [np.sin, np.exp, np.tanh, np.abs, np.negative, np.square, lambda x: np.sqrt(np.abs(x)), np.arctan]
BINARY = [np.add, np.subtract, np.multiply, np.maximum, np.minimum, lambda x, y: np.where(x > y, x, y * 2)]
SHAPING = [
    lambda x: np.sum(x, axis=-1, keepdims=True), lambda x: np.mean(x, axis=0), lambda x: x[..., ::-1],
    lambda x: x.T if x.ndim == 2 and x.shape[0] == x.shape[1] else x, lambda x: np.max(x, axis=0, keepdims=True),
    lambda x: x[:1], lambda x: np.broadcast_to(x, (3, 3)),
]  # fmt: skip


@st.composite
def programs(draw):
    steps = draw(st.lists(st.tuples(st.sampled_from("uubbs"), st.integers(0, 50), st.integers(0, 50),
                                    st.integers(0, 50)), min_size=1, max_size=25))  # fmt: skip
    return steps, draw(st.sampled_from([np.float64, np.float32])), draw(st.integers(1, 4))


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(programs())
def test_random_programs(drawn):
    steps, dtype, outputs = drawn

    def f(a, b, c):
        values = [a, b, c]
        for kind, which, i, j in steps:
            x, y = values[i % len(values)], values[j % len(values)]
            if kind == "u":
                values.append(UNARY[which % len(UNARY)](x))
            elif kind == "b":
                values.append(BINARY[which % len(BINARY)](x, y))
            elif x.ndim:
                values.append(SHAPING[which % len(SHAPING)](x))
        return tuple(values[-outputs:])

    rng = np.random.default_rng(2)
    args = [rng.normal(size=shape).astype(dtype) for shape in ((3, 3), (3, 1), (3,))]
    check(f, *args, rtol=3e-3 if dtype is np.float32 else 1e-9, atol=1e-4 if dtype is np.float32 else 1e-11)


# -- What it costs to keep ----------------------------------------------------------------------------


def test_equal_kernels_are_compiled_once():
    x = np.ones(7)
    _, first = built(lambda x: np.cos(x * 3) + 1, x)
    _, second = built(lambda y: np.cos(y * 3) + 1, np.ones((4, 5)))
    assert first.kernels[0].name == second.kernels[0].name
    assert first.modules == second.modules


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_code_goes_with_its_program():
    def once(k):
        _, program = built(lambda x: x * float(k) + np.exp(x), np.ones(3))
        program(np.ones(3))

    for k in range(60):
        once(k + 0.5)
    gc.collect()
    before = resident()
    for k in range(150):
        once(k + 1000.25)
    gc.collect()
    assert resident() - before < 8 << 20


def test_arrays_that_look_otherwise_in_memory(monkeypatch):
    monkeypatch.setattr("adjoint.native.call.array_entry.supported", lambda: False)
    x = R.normal(size=(4, 5))
    program = check(lambda x, k: (np.exp(x) * k, np.sum(x)), x, 2.0)
    for other in layouts(x):
        np.testing.assert_allclose(program(other, 2.0)[0], np.exp(x) * 2, rtol=1e-12)


def test_texts():
    _, program = built(lambda x: np.sum(np.exp(x)), np.ones(100))
    assert "define void" in program.llvm
    assert "ret" in program.assembly
    (record,) = program.kernels
    assert (record.loops, record.read, record.written) == (1, 800, 8)
    assert {n.op.name for n in record.nodes} == {"exp", "reduce_sum"}
    (row,) = program.listing().rows
    assert (row.by, row.domain, row.operations, row.read, row.written) == ("kernel", (100,), 2, 800, 8)


def test_composed_operations_are_taken_apart():
    graph = ad.capture(lambda x: ad.softplus(x) + ad.gelu(x, "tanh") + ad.relu(x), np.ones(3))
    nodes = [n for n in primitive(graph.outputs) if n.op]
    assert all(kind_of(n)[0] == "elementwise" for n in nodes)


def test_many_threads_may_call_one_program():
    from concurrent.futures import ThreadPoolExecutor

    x = R.normal(size=400_000)
    graph, program = built(lambda x, k: np.sum(np.exp(x) * k) + np.sin(x), x, 1.0)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: program(x, float(k))[0], range(12)))
    for k, got in enumerate(found):
        np.testing.assert_allclose(got, graph.run([x, float(k)])[0], rtol=1e-12)


def test_arguments_that_are_given_back_before_they_are_written():
    graph = ad.capture(
        lambda w, x: (w * 1.0, np.sum(np.partition(w, 1) * x), w - np.partition(x, 1)), np.ones(3), np.ones(3)
    )
    w, x = graph.inputs
    _, total, new = graph.outputs
    program = native.build([w, x], [w, total, new], into={2: 0}, exact=True)
    assert not program.whole
    for k in range(3):
        a, b = np.array([3.0, 1.0, 2.0]) + k, np.array([0.5, -1.0, 2.0])
        old = a.copy()
        first, second = program.run(a, b)
        np.testing.assert_array_equal(first, old)
        np.testing.assert_allclose(second, np.sum(np.partition(old, 1) * b))
        np.testing.assert_array_equal(a, old - np.partition(b, 1))
