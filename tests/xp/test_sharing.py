"""Memory goes in and out without copies: DLPack, and the buffer protocol. Graphs do not get lost on the way."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import adjoint as ad
from adjoint import xp


def test_in_from_numpy():
    a = np.array([1.0, 2.0])
    t = ad.from_dlpack(a)
    a[0] = 5.0
    assert isinstance(t, ad.Tensor)
    assert t.tolist() == [5.0, 2.0]
    assert not np.shares_memory(xp.from_dlpack(a, copy=True).numpy(), a)


@pytest.mark.filterwarnings("ignore")
def test_in_from_and_out_to_torch():
    torch = pytest.importorskip("torch")
    theirs = torch.zeros(3, dtype=torch.float64)
    t = ad.from_dlpack(theirs)
    theirs[1] = 4.0
    assert t.tolist() == [0.0, 4.0, 0.0]
    back = torch.from_dlpack(t)
    back[0] = 7.0
    assert t.tolist() == [7.0, 4.0, 0.0]
    assert theirs[0] == 7.0
    with pytest.raises(BufferError, match="gradient"):
        ad.from_dlpack(torch.zeros(2, requires_grad=True))


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int8, np.bool_])
def test_out_to_numpy(dtype):
    t = ad.Tensor(np.ones((2, 3), dtype))
    for out in (np.from_dlpack(t), np.asarray(t)):
        assert np.shares_memory(out, t.numpy())
        assert out.dtype == dtype
    assert np.array(t).base is None
    with pytest.raises(ValueError, match="copy"):
        np.asarray(t, dtype=np.complex64, copy=False)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python classes offer buffers from 3.12 on")
def test_buffers():
    t = ad.Tensor(np.arange(3.0))
    view = memoryview(t)
    view[0] = 9.0
    assert t.tolist() == [9.0, 1.0, 2.0]
    with pytest.raises(ad.LeavesGraphError):
        memoryview(ad.Tensor(np.ones(2)).requires_grad_() * 2)


@pytest.mark.parametrize("out", [np.from_dlpack, np.asarray, ad.from_dlpack, lambda t: t.__dlpack__()])
def test_a_tensor_in_a_graph_does_not_leave_it(out):
    t = ad.tensor([1.0, 2.0], requires_grad=True)
    for tensor in (t, t * 2, t[:1]):
        with pytest.raises(ad.LeavesGraphError):
            out(tensor)
        assert out(tensor.detach()) is not None
