"""Values of `state_dict`: arrays of NumPy's, and what a PyTorch user's hand types on them."""

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn

LINES = """
{k: v.clone() for k, v in state.items()}
{k: v.clone().detach() for k, v in state.items()}
{k: v.cpu() for k, v in state.items()}
{k: v.to(np.float64) for k, v in state.items()}
{k: v.double() for k, v in state.items()}
{k: v.detach().clone() for k, v in state.items()}
{k: v.contiguous() for k, v in state.items()}
{k: v.view(v.dtype) for k, v in state.items()}
copy.deepcopy(state)
pickle.loads(pickle.dumps(state))
""".strip().splitlines()


def network():
    return nn.Sequential(nn.Linear(3, 4, rng=0, dtype=np.float32), nn.BatchNorm1d(4))


@pytest.mark.parametrize("line", LINES)
def test_copies_load_into_a_model_and_into_files(line, tmp_path):
    state = network().state_dict()
    found = eval(line, {"np": np, "copy": copy, "pickle": pickle, "state": state})
    assert all(isinstance(v, np.ndarray) for v in found.values())
    ad.save(found, tmp_path / "model.safetensors")
    for loaded in (found, ad.load(tmp_path / "model.safetensors")):
        net = nn.Sequential(nn.Linear(3, 4, rng=1, dtype=np.float32), nn.BatchNorm1d(4))
        net.load_state_dict(loaded)
        for name, value in net.state_dict().items():
            np.testing.assert_array_equal(value, state[name])


def test_questions_are_answered_as_of_tensors():
    w = network().state_dict()["0.weight"]
    assert (w.numel(), w.dim(), w.size(), w.size(0), w.size, np.size(w)) == (12, 2, (4, 3), 4, 12, 12)
    assert (w.requires_grad, w.grad, w.dtype, w.half().dtype) == (False, None, np.float32, np.float16)
    np.testing.assert_allclose(w.norm().item(), np.linalg.norm(w))
    before = w.copy()
    w.mul_(0.5)
    np.testing.assert_array_equal(w, before * np.float32(0.5))
    w.copy_(before)
    np.testing.assert_array_equal(w, before)
    with pytest.raises(AttributeError, match="nonsense"):
        w.nonsense  # noqa: B018 - an attribute that is not there


def test_they_are_arrays_to_every_transform():
    w = network().state_dict()["0.weight"]
    plain = np.asarray(w)
    assert type(plain) is np.ndarray
    for f in (ad.grad(lambda w: np.sum(w**3)), ad.compile(lambda w: w @ w.T), ad.vmap(lambda r: r * 2)):
        np.testing.assert_array_equal(f(w), f(plain))
