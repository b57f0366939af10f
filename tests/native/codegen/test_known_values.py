"""One instruction may give numbers of two dtypes: LLVM's integers have no sign, and what asks for one knows it."""

import numpy as np
import pytest

import adjoint as ad

RNG = np.random.default_rng(0)
SIGNED, UNSIGNED = ("i1", "i2", "i4", "i8"), ("u1", "u2", "u4", "u8")


def numbers(dtype):
    if dtype == "?":
        return RNG.random(40) < 0.5
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, 0, 1, 2, info.max // 2 + 1], dtype)
    return np.concatenate([RNG.choice(ends, 20), np.arange(20, dtype=dtype)])


@pytest.mark.parametrize(("signed", "unsigned"), list(zip(SIGNED, UNSIGNED, strict=True)))
@pytest.mark.parametrize("of", ["?", "u1"])
def test_a_value_converted_twice_has_the_sign_that_each_asks_for(of, signed, unsigned):
    if of == unsigned:
        pytest.skip("which is not converted")
    asks = (np.minimum, np.fmax, np.less, np.right_shift, np.floor_divide, np.remainder, lambda x, y: (x - y) / 1.0)

    def both(first, second):
        def f(c, x, y):
            of_first = [np.multiply(c, x if first == unsigned else y)]
            return *of_first, *(ask(c, y if second == signed else x) for ask in asks)

        return f

    given = numbers(of), numbers(unsigned), numbers(signed)
    for f in (both(unsigned, signed), both(signed, unsigned)):
        compiled = ad.compile(f, wait=True)
        with np.errstate(all="ignore"):
            for _ in range(3):
                for found, wanted in zip(compiled(*given), f(*given), strict=True):
                    assert found.dtype == wanted.dtype
                    np.testing.assert_array_equal(found, wanted)
