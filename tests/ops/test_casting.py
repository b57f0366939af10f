"""`t.astype(…)` has all arguments of NumPy's method, by their places too, and refuses what that refuses."""

import numpy as np
import pytest

import adjoint as ad

ARRAYS = {
    "number": np.array(1.5),
    "vector": np.arange(3.0),
    "rows": np.arange(6.0).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
}


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("name", ARRAYS)
def test_whether_it_copies_is_said_by_place_too(name, order):
    x = ARRAYS[name]

    def f(x):
        return x.astype(float, order, "safe", True, False)

    fast = ad.compile(f, wait=True)
    for _ in range(3):
        assert (fast(x) is x) == (f(x) is x)
        assert fast(x).flags.f_contiguous == f(x).flags.f_contiguous


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe", "other"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.int64])
def test_what_numpy_does_not_cast_is_refused(dtype, casting):
    x = np.ones(2)
    try:
        x.astype(dtype, casting=casting)
    except (TypeError, ValueError) as error:
        for f in (lambda t: t.astype(dtype, casting=casting), lambda t: t.astype(dtype, "C", casting)):
            with pytest.raises(type(error), match=r"[Cc]ast"):
                f(ad.tensor(x, requires_grad=True))
            with pytest.raises(type(error), match=r"[Cc]ast"):
                ad.jvp(f, (x,), (x,))
    else:
        assert ad.tensor(x).astype(dtype, casting=casting).dtype == dtype
