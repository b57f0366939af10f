"""What a compiled function keeps shares memory with what it came from, as in the plain one."""

import pytest

from tests.compiler.attacks.worlds import compare

SOURCES = {
    "an argument": "g",
    "a tensor from outside": "OUT",
    "a leaf": "W",
    "a gradient": "W.grad",
    "the gradient of an argument": "w.grad",
    "an array": "a",
    "an array from outside": "A",
    "a new tensor": "(g * 2)",
    "a new array": "(a * 2)",
}
FORMS = (
    "{}", "{}.detach()", "{}[:]", "{}.data", "{}.copy()", "{}.reshape(2, 1)", "np.asarray({})",
    "np.broadcast_to({}, (2, 2))", "{}.ravel()", "{}[np.array([0, 1])]", "np.flip({})",
)  # fmt: skip
PLACES = {
    "a gradient": "V.grad = v",
    "data": "V.data = v",
    "a gradient and a dictionary": "D['k'] = v; V.grad = v",
    "two gradients": "V.grad = v; U.grad = v",
    "data and a dictionary": "V.data = v; D['k'] = v",
    "a buffer": "M.b = v",
    "an attribute": "o.v = v; v = 0",
}
WORLD = """
W, V, U = (ad.tensor([1.0, 2.0], requires_grad=True) for _ in range(3))
(W * W).sum().backward()
OUT, A = ad.tensor([7.0, 8.0]), np.array([5.0, 6.0])
D, R = {}, []
class Owner: pass
o, M = Owner(), nn.Module()
M.register_buffer("b", np.zeros(2))
t, b, w = ad.tensor([1.0, -1.0]), np.array([0.25, 0.75]), ad.tensor([0.5, 0.125], requires_grad=True)
(w * w * w).sum().backward()
@compiled
def f(g, a, w):
    v = FORM
    PLACE
---
f(t, b, w)
t.data[0] = 50.0; b[0] = 60.0; A[0] = 70.0; OUT.data[0] = 80.0
f(t, b, w)
W.grad.data[1] = 9.0; w.grad.data[1] = 11.0
f(t, b, w)
"""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("source", SOURCES)
def test_what_is_kept_and_where_it_came_from(source, place, tmp_path):
    for form in FORMS:
        world = WORLD.replace("FORM", form.format(SOURCES[source])).replace("PLACE", PLACES[place])
        assert compare(world, tmp_path, "numpy") is None, world
