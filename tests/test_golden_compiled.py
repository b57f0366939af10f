"""The golden edge cases, compiled: value and gradients by NumPy and natively are those of the file."""

import numpy as np
import pytest

import adjoint as ad
from tests.foreign import written
from tests.test_golden import CASES, NAMESPACE, PURE, inputs_of, read


def differentiated(case, inputs):
    """The value of a case and its gradients, as a function of what it is differentiated by."""
    text = f"lambda {', '.join(inputs)}: {case['program']}"
    program = written(text, f"<golden {case['id']}>", **NAMESPACE)
    rest = {key: x for key, x in inputs.items() if key not in case["wrt"]}
    second, cotangent = case["derivative_order"] == 2, case["cotangent"]

    def value_of(wrt):
        if second:
            ((key, x),) = wrt.items()
            return ad.grad(lambda x: np.sum(program(**{key: x})))(x)
        return program(**rest, **wrt)

    def f(wrt):
        value, pullback = ad.vjp(value_of, wrt)
        seed = np.ones(np.shape(value)) if second or cotangent == "ones" else np.asarray(cotangent)
        return program(**rest, **wrt), pullback(seed.astype(np.result_type(value)))[0]

    return f


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("name", PURE)
def test_edge_case(name, backend):
    case, inputs = CASES[name], inputs_of(CASES[name])
    compiled = ad.compile(differentiated(case, inputs), wait=True, backend=backend)
    with np.errstate(all="ignore"):
        for _ in range(3):  # as it is, recorded, and from the recording
            value, found = compiled({key: inputs[key] for key in case["wrt"]})
    np.testing.assert_allclose(value, read(case["value"]), rtol=case["tol"] + 1e-11, atol=1e-9)
    for key in case["wrt"]:
        assert (found[key].shape, found[key].dtype) == (inputs[key].shape, inputs[key].dtype)
        expected = [read(a[key]) for a in (case["gradient"], *case.get("accept_gradient_any_of", []))]
        same = [np.allclose(found[key], e, rtol=case["tol"] + 1e-11, atol=1e-9, equal_nan=True) for e in expected]
        assert any(same), f"{case['program']}: gradient by {key} is {found[key]}, expected {expected}"
    assert compiled.graph.inputs
