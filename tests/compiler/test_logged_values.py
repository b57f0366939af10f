"""Values that a step notes for its user (``loss.numpy()``, ``float(loss.detach())``): noted at each call, natively."""

from types import SimpleNamespace

import numpy as np
import pytest

import adjoint as ad


def as_array(s, loss):
    s.log.append(loss.numpy())


def as_float(s, loss):
    s.log.append(float(loss.numpy()))


def detached_float(s, loss):
    s.log.append(float(loss.detach()))


def detached_array(s, loss):
    s.log.append(loss.detach().numpy())


def copied(s, loss):
    s.log.append(loss.detach().cpu().numpy().copy())


def written_after(s, loss):
    noted = loss.detach().numpy()
    s.log.append(noted.copy())
    noted += 1
    s.log.append(noted)


def summed(s, loss):
    s.total += loss.item()
    s.total += float(loss.detach() * 2)
    s.average = 0.9 * s.average + 0.1 * loss.numpy()


def kinds(s, loss):
    noted = loss.numpy()
    s.log.append((noted.dtype, noted.shape, isinstance(noted, np.ndarray), isinstance(noted, float)))


def of_elements(s, loss):
    s.log.append((loss * s.w).detach().numpy().sum())
    s.log.append(int(np.sum(s.w.numpy() > 0.5)))


@pytest.mark.parametrize("backward", [False, True], ids=["value", "backward"])
@pytest.mark.parametrize(
    "note",
    [as_array, as_float, detached_float, detached_array, copied, written_after, summed, kinds, of_elements],
    ids=lambda f: f.__name__,
)
def test_notes_are_those_of_the_plain_step(note, backward):
    def step(s, x):
        loss = np.sum(s.w * x)
        if backward:
            loss.backward()
        note(s, loss)
        return loss

    plain, ours = (
        SimpleNamespace(w=ad.tensor([0.5, 1.0, 2.0], requires_grad=True), log=[], total=0.0, average=0.0)
        for _ in range(2)
    )
    compiled = ad.compile(lambda x: step(ours, x), wait=True)
    for k in range(8):
        x = np.array([1.0, 2.0, 4.0]) * (k % 3)
        assert compiled(x).item() == step(plain, x).item()
        assert (repr(ours.log), ours.total, ours.average) == (repr(plain.log), plain.total, plain.average)
        for a, b in zip(ours.log, plain.log, strict=True):
            assert type(a) is type(b)
            assert getattr(getattr(a, "flags", None), "writeable", 0) == getattr(
                getattr(b, "flags", None), "writeable", 0
            )
    assert "runs as it is" not in compiled.explain()
    assert sum(map(len, compiled._specializations.values())) <= 2


@pytest.mark.parametrize("returned", [True, False])
def test_gradients_that_add_up_beside_a_result_that_goes_on(returned):
    """The backward pass inside, and one through what was given back, by the fast path."""

    def step(w, x):
        loss = np.sum(np.exp(w) * x)
        loss.backward()
        return loss * 2 if returned else loss

    weights = [ad.tensor([0.0, 1.0, 2.0], requires_grad=True) for _ in range(2)]
    compiled = ad.compile(lambda x: step(weights[0], x), wait=True)
    for k in range(8):
        x = np.array([1.0, 2.0, 3.0]) * (k + 1)
        results = compiled(x), step(weights[1], x)
        np.testing.assert_allclose(*(w.grad.numpy() for w in weights), rtol=1e-12)
        if k % 2:
            for w in weights:
                w.grad.zero_()
        for result in results:
            result.backward()
        np.testing.assert_allclose(*(w.grad.numpy() for w in weights), rtol=1e-12)
    assert compiled._directs, "there is a fast path"
