"""Complex numbers in native code: values are NumPy's, whatever dtypes, layouts and special values there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import adjoint as ad
from adjoint import native
from adjoint.native.plan.pairs import fourier

R = np.random.default_rng(0)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan, 1e-320, 1e30, -1e30, 80.0, 710.0, -745.0, 1e-5)
BOTH = pytest.mark.parametrize("dtype", [np.complex128, np.complex64])


def random(*shape: int) -> Any:
    return R.normal(size=shape) + 1j * R.normal(size=shape)


def built(f: Callable[..., Any], *args: Any) -> native.Program:
    graph = ad.capture(f, *args).rewritten()
    return native.build(graph.inputs, graph.outputs)


def leaves(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple) else [value]


def check(f: Callable[..., Any], *args: Any, whole: bool = True, bound: float = 64) -> native.Program:
    """Compare the compiled program with NumPy, relative to the largest element."""
    program = built(f, *args)
    assert program.whole == whole, str(program.listing())
    for found, wanted in zip(program(*args), leaves(f(*args)), strict=True):
        assert (found.dtype, found.shape) == (np.asarray(wanted).dtype, np.shape(wanted))
        if np.size(wanted):
            largest = np.max(np.abs(np.asarray(wanted, complex)))
            eps = np.finfo(wanted.dtype).eps if wanted.dtype.kind in "fc" else 0
            assert np.max(np.abs(np.asarray(found, complex) - wanted)) <= bound * eps * largest
    return program


def parts(x: Any) -> Iterator[Any]:
    yield from (x.real, x.imag) if x.dtype.kind == "c" else (x,)


def check_closely(found: Any, wanted: Any, units: int) -> None:
    """Each part within so many units in the last place, nan where NumPy has nan, and of the same sign."""
    assert found.dtype == wanted.dtype
    for x, y in zip(parts(found), parts(wanted), strict=True):
        if x.dtype == bool:
            assert (x == y).all()
            continue
        with np.errstate(all="ignore"):
            near = np.abs(x - y) <= units * np.spacing(np.abs(y))
        same = (x == y) & (np.signbit(x) == np.signbit(y))
        assert (same | near | (np.isnan(x) & np.isnan(y))).all()


# -- Elementwise ----------------------------------------------------------------------------------------------

EXACT: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("negative", "conj", "isnan", "isinf", "isfinite", "logical_not")},
    "reciprocal": np.reciprocal,
    "real": np.real,
    "imag": np.imag,
    "to truth values": lambda z: z.astype(bool),
}
CLOSE = {"absolute": np.absolute, "sign": np.sign, "exp": np.exp, "angle": np.angle}
PAIRS = {name: getattr(np, name)
         for name in ("add", "subtract", "divide", "equal", "not_equal", "greater", "greater_equal", "less",
                      "less_equal", "maximum", "minimum", "fmax", "fmin", "logical_or")}  # fmt: skip


@BOTH
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_special_values_of_functions(name: str, dtype: Any) -> None:
    f = EXACT.get(name) or CLOSE[name]
    with np.errstate(all="ignore"):
        z = np.array([complex(x, y) for x, y in product(SPECIAL, repeat=2)]).astype(dtype)
        wanted, program = f(z), built(f, z)
    assert program.whole
    check_closely(program(z)[0], wanted, 4 * (name in CLOSE))


@BOTH
@pytest.mark.parametrize("name", PAIRS)
def test_special_values_of_pairs(name: str, dtype: Any) -> None:
    f = PAIRS[name]
    with np.errstate(all="ignore"):
        z = np.array([complex(x, y) for x, y in product(SPECIAL, repeat=2)]).astype(dtype)
        x, y = np.repeat(z, len(z)), np.tile(z, len(z))
        wanted, program = f(x, y), built(f, x, y)
    assert program.whole
    check_closely(program(x, y)[0], wanted, 0)


@BOTH
def test_products_keep_what_is_not_finite(dtype: Any) -> None:
    """NumPy fuses a product and a sum on some processors, so last digits differ, and so may an infinity and a nan."""
    z = np.array([complex(x, y) for x, y in product((0.0, -1.0, np.inf, np.nan, 3.0), repeat=2)]).astype(dtype)
    x, y = np.repeat(z, len(z)), np.tile(z, len(z))
    with np.errstate(all="ignore"):
        check_closely(built(np.multiply, x, y)(x, y)[0], x * y, 2)
        check_closely(built(lambda a, b: a * b, x.real.copy(), y)(x.real.copy(), y)[0], x.real * y, 2)


@BOTH
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9])
def test_whole_powers(n: int, dtype: Any) -> None:
    z = np.append(random(20), [0.0, 0j, 1.0, -2j]).astype(dtype)
    check(lambda z: z**n, z)


# -- Programs -------------------------------------------------------------------------------------------------


def recurrence(z: Any) -> Any:
    a = z
    for _ in range(40):
        a = a * np.exp(1j * np.abs(a)) * 0.9 + z
    return a


def filled(z: Any) -> Any:
    out = np.zeros((4, *z.shape), z.dtype)
    for i in range(4):
        out[i] = z * i
    return out


PROGRAMS: dict[str, Callable[..., Any]] = {
    "itself": lambda z: (z, z, z.real, z + z),
    "constants": lambda z: (np.array([1j, 2.0]).astype(z.dtype) + z[0, 0], np.full(z.shape, 1 - 1j, z.dtype) * z),
    "mixed": lambda z: (z * z.real, z + 1, 2j - z, z.imag / z),
    "views": lambda z: (z.T, z[::-1, 1:3], z.reshape(-1), z[None, 1], np.broadcast_to(z[0], (3, z.shape[1]))),
    "indices": lambda z: (z[np.array([1, 0, 1])], np.where(z.real > 0, z, 1j), z[:, np.array([2, 0])]),
    "joined": lambda z: (np.concatenate([z, z.real]), np.stack([z, 2 * z], axis=-1), np.pad(z, 1), np.roll(z, 1)),
    "sums": lambda z: (np.sum(z), np.sum(z, axis=0), np.mean(z, axis=1), np.cumsum(z, axis=1), np.var(z)),
    "products": lambda z: (z @ z.T, z.T @ z.conj(), z @ z[0], z.real @ z.T, np.vdot(z, z)),
    "conversions": lambda z: (z.astype(np.complex64) * 2, z.astype(np.complex128), z.real.astype(complex)),
    "filled": filled,
    "loop": recurrence,
}


@BOTH
@pytest.mark.parametrize("shape", [(2, 4), (3, 5), (40, 33)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, shape: tuple[int, int], dtype: Any) -> None:
    z = random(*shape).astype(dtype) * 0.3
    check(PROGRAMS[name], z, bound=1e4 if name == "loop" else 200)


@pytest.mark.parametrize("lies", ["Fortran", "gaps", "backwards", "a field"])
def test_arguments_lie_anywhere(lies: str) -> None:
    z = random(6, 8)
    table = np.zeros((6, 8), [("number", "f8"), ("z", "c16")])
    table["z"] = z
    z = {"Fortran": np.asfortranarray(z), "gaps": z[::2, ::3], "backwards": z[::-1], "a field": table["z"]}[lies]
    run = ad.compile(lambda z: (z * 2 + np.abs(z), z.T.copy(), np.sum(z, axis=0)), wait=True)
    for _ in range(2):
        for found, wanted in zip(run(z), (z * 2 + np.abs(z), z.T, np.sum(z, axis=0)), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("z", [0.3 + 0.2j, np.complex128(0.3 + 0.2j), np.complex64(0.3 + 0.2j)])
def test_single_numbers(z: Any) -> None:
    def squares(z: Any) -> Any:
        for _ in range(30):
            z = z * z * 0.5 + 0.1j
        return z

    run = ad.compile(squares, wait=True)
    for _ in range(3):
        assert type(run(z)) is type(squares(z))
        np.testing.assert_allclose(run(z), squares(z), rtol=1e-6)


def test_pythons_numbers_are_double() -> None:
    """With a number alone nothing is single; beside an array of single precision, everything is."""

    def f(z: Any, x: Any) -> Any:
        return abs(z), z == 3 - 1j, np.abs(z * x), np.equal(z, x)

    run = ad.compile(f, wait=True)
    for x in (np.ones(3), np.ones(3, np.float32), np.ones(3, np.complex64)):
        found, wanted = run(3.1 - 1j, x), f(3.1 - 1j, x)
        assert [np.asarray(a).dtype for a in found] == [np.asarray(a).dtype for a in wanted]
        assert found[0] == pytest.approx(wanted[0], rel=1e-15)
        np.testing.assert_allclose(found[2], wanted[2], rtol=1e-15 if x.dtype == float else 1e-6)


def test_numpys_steps_get_and_give_complex_arrays() -> None:
    m = random(5, 5)
    check(lambda m: np.sort(m * 2j, axis=0) + np.sinh(m).T, m, whole=False)
    check(lambda m: np.linalg.eigvals(m)[0] * 1j + np.linalg.inv(m * 2)[0, 0], m, whole=False)
    check(lambda m: (m[:0] * 2j, np.sum(m[:0], axis=0) + 1, m * 2), m, whole=False)
    check(lambda m: (m * 2).astype(np.clongdouble), m, whole=False)
    check(lambda m: np.prod(m * 2j, axis=0), m, whole=False)


def test_what_numpys_steps_give_is_shown_in_another_order_without_a_copy() -> None:
    z = np.asfortranarray(random(6, 8))
    run = ad.compile(lambda z: (np.sqrt(z), np.sqrt(z).T, np.sqrt(z) * 2), wait=True)
    for _ in range(2):
        found, turned, twice = run(z)
        assert found.strides == z.strides
        np.testing.assert_array_equal(found, np.sqrt(z))
        np.testing.assert_array_equal(turned, np.sqrt(z).T)
        np.testing.assert_allclose(twice, np.sqrt(z) * 2, rtol=1e-15)
    alone = ad.compile(lambda z: np.sqrt(z), wait=True)
    alone(z)
    assert "kernel" not in alone.explain()


def test_numpys_steps_say_why() -> None:
    program = built(lambda m: np.sort(m * 2j), random(4))
    (step,) = [row for row in program.listing().rows if row.by == "NumPy"]
    assert (step.reason, step.writes[0].formula[:5]) == ("dtype complex128", "sort(")


def test_an_array_is_written_in_place() -> None:
    def step(z: Any, g: Any) -> None:
        z -= 0.1j * g

    z, g = random(4), random(4)
    wanted = z - 0.1j * g
    run = ad.compile(step, wait=True)
    run(z, g)
    np.testing.assert_allclose(z, wanted, rtol=1e-14)
    run(z, g)
    np.testing.assert_allclose(z, wanted - 0.1j * g, rtol=1e-14)


# -- Fourier transforms ---------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("shape", [(1,), (7,), (8,), (3, 4), (5, 1), (9, 16, 3)])
def test_transforms_are_numpys(shape: tuple[int, ...], norm: Any, dtype: Any) -> None:
    z = random(*shape).astype(dtype)
    bound = 16 if len(shape) == 3 else 2  # NumPy takes several lines at once, and of such arrays others than we do
    for axis in range(len(shape)):
        for f in (np.fft.fft, np.fft.ifft, np.fft.irfft, np.fft.hfft):
            if shape[axis] > 1 or f in (np.fft.fft, np.fft.ifft):
                check(lambda z, f=f, axis=axis: f(z, axis=axis, norm=norm), z, bound=bound)
        for f in (np.fft.rfft, np.fft.fft, np.fft.ihfft):
            check(lambda x, f=f, axis=axis: f(x, axis=axis, norm=norm), z.real.copy(), bound=bound)
    check(lambda z: np.fft.fftn(z, norm=norm), z, bound=16)
    check(lambda z: np.fft.fft(z.T[..., ::-1], n=6, norm=norm), z, bound=16)


@BOTH
@pytest.mark.parametrize("n", [64, 128, 256, 512, 1024, 2048, 4096])
def test_powers_of_two(n: int, dtype: Any) -> None:
    """Code of ours: as near to the exact transform as NumPy's, and NumPy's own numbers where one is not finite."""
    for shape, norm in (((n,), None), ((3, n), "ortho"), ((2, 2, n), "forward")):
        z = random(*shape).astype(dtype)
        check(lambda z, norm=norm: (np.fft.fft(z, norm=norm), np.fft.ifft(z[..., ::-1], norm=norm)), z, bound=8)
        z[..., 5] = np.inf
        (found,) = built(np.fft.fft, z)(z)
        assert not np.isfinite(found).any()
    line = np.zeros(n, dtype)
    line[n // 4] = 3.0  # quarter turns are exact
    (found,) = built(np.fft.fft, line)(line)
    np.testing.assert_array_equal(found, 3 * np.array([1, -1j, -1, 1j])[np.arange(n) % 4])


def test_lines_with_nan_are_numpys() -> None:
    z = random(4, 128)
    z[1, 3], z[2, 7] = np.nan, complex(np.inf, -1.0)
    with np.errstate(all="ignore"):
        wanted = np.fft.fft(z)
    (found,) = built(np.fft.fft, z)(z)
    np.testing.assert_array_equal(found[1:3], wanted[1:3])
    np.testing.assert_allclose(found[::3], wanted[::3], rtol=1e-12)


def test_gradients_through_transforms() -> None:
    def loss(x: Any) -> Any:
        spectrum = np.fft.rfft(x) * np.exp(-0.3j * np.arange(x.size // 2 + 1))
        return np.sum(np.fft.irfft(spectrum, x.size) ** 3) + np.sum(np.abs(np.fft.fft(x * (1 + 2j))) ** 2)

    for n in (8, 9):
        x = R.normal(size=n)
        run = ad.compile(ad.grad(loss), wait=True)
        np.testing.assert_allclose(run(x), ad.grad(loss)(x), rtol=1e-12)
        assert run.plan.count("NumPy") == 0


def test_without_numpys_loops_numpy_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fourier, "_loops", dict)
    check(lambda z: np.fft.ifft(np.fft.fft(z) * 2j), random(8), whole=False)


def test_writes_through_a_part_leave_the_other() -> None:
    """In the argument too, which is written as NumPy writes it."""

    def real(z: Any) -> Any:
        part = z.real
        part[0] = 7.0
        part[2] = part[0] * 1.7
        part[...] *= 2.0
        return z * z

    def imag(z: Any) -> Any:
        z[::-1].imag[1:] = 5.0
        return z + 1.0

    for f in (real, imag):
        run = ad.compile(f, wait=True)
        for z in (random(4), random(4), random(4)):
            mine, theirs = z.copy(), z.copy()
            np.testing.assert_allclose(run(mine), f(theirs), rtol=1e-15)
            np.testing.assert_array_equal(mine, theirs)


def test_rows_of_two_elements_are_no_pairs() -> None:
    """An element that is read while its row is written in place keeps its old value for all of them."""

    def backwards(x: Any) -> Any:
        view = x[..., ::-1]
        view[...] *= view[0, 0, 0]
        return np.sum(x)

    def flipped(x: Any) -> Any:
        view = np.flip(x)
        view *= view[1, 0, 1]
        return np.sum(view)

    for f in (backwards, flipped):
        run = ad.compile(f, wait=True)
        for k in range(3):
            mine = np.random.default_rng(k).uniform(1.0, 2.0, (2, 3, 2))
            theirs = mine.copy()
            np.testing.assert_allclose(run(mine), f(theirs), rtol=1e-14)
            np.testing.assert_allclose(mine, theirs, rtol=1e-15)


# -- Both parts at once ---------------------------------------------------------------------------------------

LENGTHS = pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 65, 130])


@BOTH
@LENGTHS
def test_parts_are_read_and_written_together(n: int, dtype: Any) -> None:
    z, w = random(3, n).astype(dtype), random(3, n).astype(dtype)
    check(lambda z, w: (z + w, np.conj(z), z.T, np.sum(z, axis=1), np.sum(z), z.imag + 1j * z.real), z, w)
    check(lambda z, w: (z[:, ::-1] * 2, z[:, :-1] - w[:, 1:], np.abs(z[1:])) if n > 1 else z + w, z, w)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("n", [2, 6, 16, 30, 32, 34, 128, 130])
def test_every_other_element_beside_its_neighbour(n: int, dtype: Any) -> None:
    """Real arrays whose elements lie so are read and written as parts of complex numbers are, also where three meet."""
    x = R.normal(size=n + 1).astype(dtype)

    def swapped(x: Any) -> Any:
        out = np.zeros_like(x)
        out[1:-1:2], out[:-1:2] = x[:-1:2], x[1:-1:2] + x[2::2]
        return out

    check(lambda x: (x[:-1:2] * x[1::2] - x[2::2], swapped(x)), x)


def test_light_operations_take_one_kernel() -> None:
    """So each number is read and written once, with both parts."""
    z, w = random(500), random(500)
    for f in (np.add, np.multiply, lambda z, w: np.conj(z), lambda z, w: z[::-1] + w):
        (row,) = check(f, z, w).listing().rows
        assert row.by == "kernel"


def test_views_put_over_each_other_are_no_pairs() -> None:
    """Copies of equal shape that meet come one after another."""

    def written(x: Any, y: Any) -> Any:
        out = x.copy()
        out[..., ::-1] = y * y[0, 0, 0]
        return out

    x, y = R.normal(size=(5, 3, 2)), R.normal(size=(5, 3, 2))
    check(written, x, y, bound=1)


@pytest.mark.parametrize("axes", [(2, 1, 0), (1, 0, 2), (2, 0, 1), (0, 2, 1)])
def test_axes_in_another_order_are_written_at_once(axes: tuple[int, ...]) -> None:
    z = random(3, 4, 5)
    check(lambda z: np.transpose(np.conj(z) * 2j, axes), z)
    check(lambda z: (np.moveaxis(np.swapaxes(z + z, 0, 1).transpose(axes), 0, 2), z.T, np.conj(z).mT), z)
    z = np.asfortranarray(z)
    one = ad.compile(lambda z: np.conj(z) * 2j, wait=True)
    np.testing.assert_array_equal(one(z), np.conj(z) * 2j)
    assert one.plan.count("kernel") == 1
    run = ad.compile(lambda z: (z * z, np.conj(z), z.T + 1, np.transpose(z * 2, axes).copy()), wait=True)
    for _ in range(2):
        copy = np.transpose(z * 2, axes).copy()
        for found, wanted in zip(run(z), (z * z, np.conj(z), z.T + 1, copy), strict=True):
            assert found.strides == wanted.strides
            np.testing.assert_allclose(found, wanted, rtol=1e-14)


WRITTEN = {
    "one element": lambda part: part.__setitem__(0, 3.0),
    "all": lambda part: part.__setitem__(..., np.arange(4.0)),
    "a slice": lambda part: part[1:].__setitem__(slice(None, None, 2), 5.0),
    "in place": lambda part: part.__iadd__(1.0),
    "a mask": lambda part: part.__setitem__(part > 0.5, -1.0),
}


@pytest.mark.parametrize("shown", ["real", "imag"])
@pytest.mark.parametrize("name", ["real", "imag"])
@pytest.mark.parametrize("write", WRITTEN)
def test_a_write_through_one_part_of_a_complex_array(write, name, shown):
    turns = np.array([1j, 2.0, 0.5 + 1j, -1.0])

    def program(x):
        z = turns * x
        WRITTEN[write](getattr(z, name))
        return getattr(z, shown) * 2.0

    compiled = ad.compile(program, wait=True)
    slopes = ad.compile(lambda x: ad.grad(lambda v: np.sum(program(v) ** 2))(x), wait=True)
    for k in range(3):
        x = np.array([0.3, 1.2, -0.7, 2.0]) + k
        np.testing.assert_array_equal(compiled(x), program(x))
        np.testing.assert_allclose(slopes(x), ad.grad(lambda v: np.sum(program(v) ** 2))(x), rtol=1e-13)
