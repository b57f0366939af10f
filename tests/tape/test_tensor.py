"""Tensors: making them, looking at them, and the ways out of the graph."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
from tests.foreign import foreign


def in_graph():
    return ad.tensor([1.0, 2.0], requires_grad=True) * 2


class TestMaking:
    def test_tensor_copies_and_wrapping_shares(self):
        a = np.ones(3)
        assert not np.shares_memory(ad.tensor(a).numpy(), a)
        assert np.shares_memory(ad.Tensor(a).numpy(), a)

    def test_dtypes_are_numpys(self):
        assert ad.tensor([1.0]).dtype == np.float64
        assert ad.tensor([1]).dtype == np.int64
        assert ad.tensor([1.0], dtype=np.float32).dtype == np.float32
        x = ad.tensor(1.0, dtype=np.float32, requires_grad=True)
        assert (x * 2.5).dtype == np.float32
        assert (x * np.float64(2.5)).dtype == np.float64

    @pytest.mark.parametrize("data", [[1, 2], [True, False]])
    def test_whole_numbers_cannot_require_a_gradient(self, data):
        with pytest.raises(ad.DTypeError, match=r"astype\(float\)"):
            ad.tensor(data, requires_grad=True)

    def test_objects_are_refused(self):
        with pytest.raises(ad.DTypeError, match="Python objects"):
            ad.Tensor([1.0, object()])

    def test_an_array_of_tensors_is_refused_with_a_way_out(self):
        x = ad.tensor(1.0, requires_grad=True)
        with pytest.raises(ad.LeavesGraphError, match="detach"):
            ad.tensor([x, x])

    def test_integers_are_constants(self):
        x = ad.tensor([1.0, 2.0], requires_grad=True)
        n = ad.tensor([3, 4])
        (x * n).sum().backward()
        assert x.grad.tolist() == [3.0, 4.0]
        assert x.grad.dtype == np.float64
        assert n.grad is None


class TestLooking:
    @pytest.mark.parametrize(
        ("make", "text"),
        [
            (lambda: ad.tensor([1.0, 2.0]), "tensor([1., 2.])"),
            (lambda: ad.tensor(2.0, requires_grad=True), "tensor(2., requires_grad=True)"),
            (lambda: ad.tensor([1, 2]), "tensor([1, 2])"),
            (lambda: ad.tensor([1.0], dtype=np.float32), "tensor([1.], dtype=float32)"),
            (in_graph, "tensor([2., 4.], op=multiply)"),
        ],
    )
    def test_repr(self, make, text):
        assert repr(make()) == text

    def test_shape_and_friends(self):
        t = ad.tensor(np.zeros((2, 3, 4)))
        assert (t.shape, t.ndim, t.size, len(t), t.nbytes) == ((2, 3, 4), 3, 24, 2, 192)
        assert t.T.shape == (4, 3, 2)
        assert t.mT.shape == (2, 4, 3)
        assert (t.dim(), t.numel(), t.unsqueeze(1).shape) == (3, 24, (2, 1, 3, 4))
        assert t.view(6, 4).shape == t.reshape(6, -1).shape == (6, 4)
        assert t.permute(2, 0, 1).shape == (4, 2, 3)

    def test_format(self):
        t = ad.tensor(1.23456, requires_grad=True)
        assert f"{t * 1:.2f}" == "1.23"
        assert f"{ad.tensor([1.0])}" == "tensor([1.])"

    def test_iteration_and_membership(self):
        rows = list(ad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True))
        assert [r.tolist() for r in rows] == [[1.0, 2.0], [3.0, 4.0]]
        assert all(r.requires_grad for r in rows)
        assert 3.0 in ad.tensor([1.0, 3.0])
        with pytest.raises(TypeError, match="0-d"):
            iter(ad.tensor(1.0))
        with pytest.raises(TypeError, match="0-d"):
            len(ad.tensor(1.0))

    def test_truth_is_numpys(self):
        assert ad.tensor(2.0, requires_grad=True) * 1 > 1
        assert not ad.tensor(0.0)
        with pytest.raises(ValueError, match="ambiguous"):
            bool(in_graph())

    def test_comparisons_are_constants(self):
        t = in_graph()
        mask = t > 3
        assert isinstance(mask, ad.Tensor)
        assert not mask.requires_grad
        assert mask.tolist() == [False, True]
        assert (~mask | mask & (t == t.copy())).all()
        assert t[mask].requires_grad
        assert type(np.greater(t, 3)) is np.ndarray

    def test_methods_bear_numpys_and_pytorchs_names(self):
        t = ad.tensor([[1.0, 4.0], [9.0, 16.0]], requires_grad=True)
        assert t.sqrt().sum(axis=0).tolist() == [4.0, 6.0]
        assert t.mean().item() == 7.5
        assert t.max(axis=1).tolist() == [4.0, 16.0]
        assert t.argmax() == 3
        assert t.clip(2, 10).tolist() == [[2.0, 4.0], [9.0, 10.0]]
        assert t.flatten().shape == (4,)
        assert abs(-t).tolist() == t.tolist()
        np.testing.assert_allclose(t.exp().log().detach(), t.detach())

    def test_unknown_attribute(self):
        with pytest.raises(AttributeError, match="frobnicate"):
            _ = in_graph().frobnicate


class TestLeaving:
    @pytest.mark.parametrize(
        "leave",
        [np.asarray, np.array, lambda t: float(t[0]), lambda t: int(t[0]), lambda t: complex(t[0]),
         lambda t: t.__dlpack__(), np.from_dlpack],
        ids=["asarray", "array", "float", "int", "complex", "dlpack", "from_dlpack"],
    )  # fmt: skip
    @pytest.mark.parametrize("make", [in_graph, lambda: ad.tensor([1.0, 2.0], requires_grad=True)])
    def test_silent_conversions_raise_and_name_the_call(self, leave, make):
        with pytest.raises(ad.LeavesGraphError, match=r"t\.detach\(\)"):
            leave(make())

    def test_a_real_number_is_no_index_as_in_numpy(self):
        with pytest.raises(TypeError, match=r"whole number.*int\(t\.item\(\)\)"):
            _ = [1, 2][in_graph()[0]]

    @pytest.mark.parametrize("same", [np.array_equal, np.array_equiv])
    @pytest.mark.parametrize("pick", [lambda t: t, lambda t: t[0]])
    def test_lists_of_tensors_are_compared_by_value(self, same, pick):
        t = pick(in_graph())
        assert same([t, t], [t, t])
        assert same([t, t], [t.numpy(), t])
        assert not same([t, t], [t, t + 1])
        assert ad.grad(lambda x: x * same([x], [x]))(2.0) == 1.0

    def test_constants_convert(self):
        t = ad.tensor([1.0, 2.0])
        assert np.asarray(t).tolist() == [1.0, 2.0]
        assert float(t[0]) == 1.0
        assert np.from_dlpack(t).tolist() == [1.0, 2.0]

    def test_assigning_into_an_array_raises(self):
        a = np.zeros(2)
        with pytest.raises(ValueError, match="sequence") as caught:
            a[0] = in_graph()[0]  # NumPy's own error, with ours as its cause
        assert "t.detach()" in str(caught.value.__cause__)
        with pytest.raises(ad.LeavesGraphError, match="out="):
            a += in_graph()

    def test_explicit_ways_always_work(self):
        t = in_graph()
        assert t.numpy().tolist() == t.tolist() == t.detach().tolist() == [2.0, 4.0]
        assert t[0].item() == t.item(0) == 2.0
        assert not t.detach().requires_grad

    def test_numpy_of_a_tensor_in_a_graph_is_read_only(self):
        with pytest.raises(ValueError, match="read-only"):
            in_graph().numpy()[0] = 5.0
        t = ad.tensor([1.0])
        t.numpy()[0] = 5.0
        assert t.tolist() == [5.0]

    def test_inside_a_transform_too(self):
        with pytest.raises(ad.LeavesGraphError):
            ad.grad(foreign("lambda x: float(x)"))(1.0)
        assert ad.grad(foreign("lambda x: x * x.detach()"))(3.0) == 3.0


class TestCopying:
    def test_the_argument_of_a_transform_is_not_pickled(self):
        with pytest.raises(ad.LeavesGraphError, match="pickling"):
            ad.grad(lambda x: pickle.loads(pickle.dumps(x)) * x)(2.0)

    def test_pickle(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        twin = pickle.loads(pickle.dumps(t))
        assert twin.tolist() == [1.0, 2.0]
        assert twin.requires_grad
        with pytest.raises(ad.LeavesGraphError):
            pickle.dumps(in_graph())

    def test_deepcopy_and_copy(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        (t * 3).sum().backward()
        twin = copy.deepcopy(t)
        assert twin.grad.tolist() == [3.0, 3.0]
        twin.data[0] = 9.0
        assert t.tolist() == [1.0, 2.0]
        with pytest.raises(ad.LeavesGraphError):
            copy.deepcopy(in_graph())
        assert copy.copy(in_graph()).requires_grad

    def test_clone_passes_gradients(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        (t.clone() * 2).sum().backward()
        assert t.grad.tolist() == [2.0, 2.0]

    def test_astype_passes_gradients(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True, dtype=np.float32)
        y = t.astype(np.float64) * 3
        assert y.dtype == np.float64
        y.sum().backward()
        assert t.grad.dtype == np.float32
        assert t.grad.tolist() == [3.0, 3.0]


class TestGrad:
    def test_intermediate_gradients_are_kept_on_request(self):
        a = ad.tensor(np.full(4, 3.0), requires_grad=True)
        c = a * 2
        e = 2 * c
        c.retain_grad()
        e.backward(np.ones(4))
        assert a.grad.tolist() == [4.0] * 4
        assert c.grad.tolist() == [2.0] * 4
        assert e.grad is None

    def test_setting_grad(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        t.grad = np.array([5.0, 6.0])
        assert t.grad.tolist() == [5.0, 6.0]
        with pytest.raises(ad.ShapeError):
            t.grad = np.ones(3)
        t.zero_grad()
        assert t.grad is None
        with pytest.raises(ad.GradientError):
            ad.tensor([1.0]).grad = np.ones(1)

    def test_requires_grad_switch(self):
        t = ad.tensor([1.0])
        assert t.requires_grad_() is t
        assert t.is_leaf
        t.requires_grad = False
        assert not t.requires_grad
        with pytest.raises(ad.GradientError, match="detach"):
            in_graph().requires_grad_(False)
        with pytest.raises(ad.GradientError):
            ad.tensor([1.0]).retain_grad()


class TestWriting:
    def test_constants_are_written_like_arrays(self):
        t = ad.tensor(np.zeros((2, 2)))
        t[0] = 1.0
        t[:, 1] += 5.0
        t *= 2.0
        assert t.tolist() == [[2.0, 12.0], [0.0, 10.0]]

    def test_a_leaf_only_under_no_grad(self):
        t = ad.tensor([1.0, 2.0], requires_grad=True)
        with pytest.raises(ad.InPlaceError, match="no_grad"):
            t -= 1.0
        with ad.no_grad():
            t -= 1.0
        assert t.tolist() == [0.0, 1.0]
        assert t.is_leaf

    def test_integers_are_not_truncated_silently(self):
        t = ad.tensor([1, 2])
        with pytest.raises(TypeError):
            t += 0.5
        assert t.tolist() == [1, 2]


ROW, SQUARE = [2.0, 3.0], [[1.0, 2.0], [3.0, 5.0]]


@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(
    "f",
    [
        lambda row, square, x: np.dot(row, x),
        lambda row, square, x: np.dot(x, row),
        lambda row, square, x: np.matmul(square, x),
        lambda row, square, x: np.linalg.solve(square, x),
        lambda row, square, x: np.linalg.lstsq(square, x, rcond=None)[0],
        lambda row, square, x: np.linalg.multi_dot([square, np.outer(x, x), square]),
        lambda row, square, x: np.arctan2(row, x),
        lambda row, square, x: row * x,
    ],
)
def test_lists_and_tuples_are_arrays_beside_a_tensor(f, kind):
    x, row, square = np.array([0.3, 0.4]), kind(ROW), kind(map(kind, SQUARE))
    slope = ad.grad(lambda t: np.sum(f(row, square, t)))(x)
    np.testing.assert_array_equal(slope, ad.grad(lambda t: np.sum(f(np.array(row), np.array(square), t)))(x))
