"""``t.data``: an array of NumPy's on the tensor's memory, with PyTorch's methods."""

import copy
import pickle

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn


def parameter():
    return nn.Parameter(np.array([[3.0, -1.0, 2.0], [0.5, 4.0, -2.0]]))


WRITES = {
    "p.data.zero_()": lambda x: x * 0,
    "p.data.fill_(2.0)": lambda x: x * 0 + 2,
    "p.data.copy_(np.ones((2, 3)))": lambda x: x * 0 + 1,
    "p.data.copy_(ad.ones(2, 3))": lambda x: x * 0 + 1,
    "p.data.add_(p.grad, alpha=-0.5)": lambda x: x - x,
    "p.data.add_(-0.5, p.grad.data)": lambda x: x - x,
    "p.data.sub_(p.grad.data)": lambda x: x - 2 * x,
    "p.data.mul_(0.5).add_(1.0)": lambda x: x / 2 + 1,
    "p.data.clamp_(-1, 1)": lambda x: np.clip(x, -1, 1),
    "p.data -= 0.5 * p.grad.data": lambda x: x - x,
    "p.data *= 2": lambda x: 2 * x,
    "p.data = p.data - 0.5 * p.grad.data": lambda x: x - x,
    "p.data = p.data * 2": lambda x: 2 * x,
    "p.data[0].zero_()": lambda x: x * [[0], [1]],
    "p.data[:, 1:].fill_(7)": lambda x: np.where(np.arange(3) > 0, 7, x),
    "p.data.view(-1)[2] = 9": lambda x: np.where(np.arange(6).reshape(2, 3) == 2, 9, x),
    "p.data[...] = 4": lambda x: x * 0 + 4,
    "nn.init.ones_(p.data)": lambda x: x * 0 + 1,
    "w = p.data; w += 1": lambda x: x + 1,
    "p.data.fill(7)": lambda x: x * 0 + 7,
    "p.data.sort()": lambda x: np.sort(x),
    "p.data.partition(1)": lambda x: np.partition(x, 1),
    "p.data.put([0], [9.0])": lambda x: np.where(np.arange(6).reshape(2, 3) == 0, 9, x),
}


@pytest.mark.parametrize("line", WRITES)
def test_writes_reach_the_parameter(line):
    p = parameter()
    (p**2).sum().backward()
    x = p.numpy().copy()
    exec(line, {"p": p, "np": np, "ad": ad, "nn": nn})
    np.testing.assert_array_equal(p.numpy(), WRITES[line](x))
    assert type(p.held) is np.ndarray
    assert p.requires_grad
    assert p.is_leaf


@pytest.mark.parametrize("line", [line for line in WRITES if not line.startswith("p.data = ")])
def test_a_graph_that_needs_what_was_written_says_so(line):
    p = parameter()
    loss = (p**2).sum()
    loss.backward()
    exec(line, {"p": p, "np": np, "ad": ad, "nn": nn})
    with pytest.raises(ad.InPlaceError):
        loss.backward()


READS = {
    "p.data.norm().item()": lambda x: np.sqrt((x * x).sum()),
    "p.data.abs().max()": lambda x: abs(x).max(),
    "(p.data - 1).norm()": lambda x: np.sqrt(((x - 1) ** 2).sum()),
    "p.data.size()": np.shape,
    "p.data.size(0)": len,
    "p.data.size": np.size,
    "p.data.view(-1)": np.ravel,
    "p.data.view(3, 2)": lambda x: x.reshape(3, 2),
    "p.data.sum(dim=1, keepdim=True)": lambda x: x.sum(1, keepdims=True),
    "p.data.std(dim=0, unbiased=False)": lambda x: x.std(0),
    "p.data.max(dim=1)[1]": lambda x: x.argmax(1),
    "p.data.max(dim=1).values": lambda x: x.max(1),
    "p.data.max(axis=1)": lambda x: x.max(1),
    "p.data.argmax(dim=1)": lambda x: x.argmax(1),
    "p.data.clone()": lambda x: x,
    "p.data.cpu().numpy()": lambda x: x,
    "p.data.tolist()": np.ndarray.tolist,
    "p.data.t()": np.transpose,
    "(p.data > 0).double().mean().item()": lambda x: (x > 0).mean(),
    "p.sum().data.item()": np.sum,
    "round(p.sum().data, 1)": np.sum,
    "float(p.sum().data)": np.sum,
    "f'{p.sum().data:.2f}'": lambda x: f"{x.sum():.2f}",
    "np.mean(p.data)": np.mean,
    "repr(p.data)": repr,
}


@pytest.mark.parametrize("line", READS)
def test_reads(line):
    p = parameter()
    assert np.array_equal(np.asarray(eval(line, {"p": p, "np": np})), READS[line](p.numpy()))


def test_it_is_an_array_on_the_same_memory():
    p = parameter()
    assert isinstance(p.data, np.ndarray)
    assert np.shares_memory(p.data, p.numpy())
    assert not np.shares_memory(p.data.clone(), p.numpy())


@pytest.mark.parametrize("line", ["p.data.max()", "p.data.min()", "p.data.sum()", "p.data.mean()", "p.data[0, 0]"])
def test_numbers_of_it_are_numpys(line):
    assert type(eval(line, {"p": parameter()})) is np.float64


def test_pickles_of_it_are_plain_arrays():
    assert type(pickle.loads(pickle.dumps(parameter().data))) is np.ndarray
    assert np.array_equal(copy.deepcopy(parameter()).data, parameter().data)


def test_a_number_that_a_call_computed_cannot_be_written_through_it():
    with pytest.raises(ValueError, match="read-only"):
        parameter().sum().data.zero_()


def test_names_for_which_there_is_another_call_say_so():
    with pytest.raises(AttributeError, match="uniform_"):
        parameter().data.uniform_(-1, 1)


@pytest.mark.filterwarnings("error")
def test_rows_are_not_silently_taken_for_a_pair():
    t = ad.tensor([[1.0, 2.0], [4.0, 3.0], [0.0, 1.0]])
    with pytest.raises(UserWarning, match="dim=1"):
        t.data.max(1)[1]


def test_compiled_functions_take_it_as_an_array():
    p, f = parameter(), ad.compile(lambda x: np.sum(np.sin(x)), wait=True)
    results = [f(p.data) for _ in range(4)]
    np.testing.assert_allclose(results, np.sum(np.sin(p.numpy())), rtol=1e-12)
    assert all(isinstance(x, np.float64) for x in results)


def test_a_compiled_function_gives_it_back_as_it_came():
    data, fast = parameter().data, ad.compile(lambda x, y=None: x if y is None else y, wait=True)
    for _ in range(3):
        assert fast(data) is data
        assert fast(1.0, y=data) is data


def test_compiled_steps_write_through_it():
    def train(step_of):
        p = nn.Parameter(np.array([1.0, 2.0]))

        def step(x):
            loss = ((p * x) ** 2).sum()
            loss.backward()
            p.data -= 0.1 * p.grad.data
            p.grad.data.zero_()
            return loss.detach()

        run = step_of(step)
        return [run(np.array([1.0, 0.5])).item() for _ in range(5)], p.numpy()

    plain, compiled = train(lambda f: f), train(lambda f: ad.compile(f, wait=True))
    np.testing.assert_allclose(compiled[0], plain[0], rtol=1e-12)
    np.testing.assert_allclose(compiled[1], plain[1], rtol=1e-12)


def test_transforms_see_it_too():
    p = parameter()
    found = ad.grad(lambda x: np.sum(x * p.data.norm()))(np.ones(2))
    np.testing.assert_allclose(found, np.linalg.norm(p.numpy()))


def test_compiled_functions_hand_data_back_as_it_came_in_containers_too():
    f = ad.compile(lambda x, y: (x, [x, y * 1.0], {"y": y, "t": (y, x)}), wait=True, backend="numpy")
    x, y = ad.tensor([1.0, 2.0]).data, ad.tensor(0.5).data
    for _ in range(3):
        a, (b, c), d = f(x, y=y)
        assert a is x
        assert b is x
        assert c == 0.5
        assert d["y"] is y
        assert d["t"][0] is y
        assert d["t"][1] is x


@pytest.mark.parametrize(
    "make", [nn.Parameter, lambda x: ad.tensor(x, requires_grad=True)], ids=["parameter", "tensor"]
)
@pytest.mark.parametrize(
    "value",
    [ad.tensor([3.0, 4.0]), np.array([3.0, 4.0]), [3.0, 4.0], 5.0, np.float32([3, 4]), ad.ones(2, 3), ad.ones(2).data],
    ids=lambda x: type(x).__name__,
)
def test_what_is_assigned_becomes_an_array(make, value):
    """Of another shape or dtype, too; gradients are of the new one."""
    p = make(np.array([1.0, 2.0]))
    np.sum(p * p).backward()
    p.data = value
    assert type(p.held) is np.ndarray
    np.testing.assert_array_equal(p.numpy(), np.asarray(value))
    p.grad = None
    np.sum(p * p).backward()
    np.testing.assert_array_equal(p.grad.numpy(), 2 * np.asarray(value))
    assert p.grad.dtype == p.dtype


def test_what_is_assigned_in_a_transform_becomes_an_array():
    p = ad.tensor(1.0)

    def f(x):
        p.data = np.linspace(0.5, 1.0, 3)
        return np.sum(x * p)

    np.testing.assert_array_equal(ad.grad(f)(np.ones(3)), [0.5, 0.75, 1.0])
    assert type(p.held) is np.ndarray


def test_what_has_a_gradient_is_not_assigned():
    p = ad.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ad.GradientError, match="detach"):
        p.data = p * 2
