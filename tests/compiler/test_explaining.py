"""What a compiled function says of itself: in text, as a plan, in pictures and in a notebook."""

import time

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim
from adjoint.core.errors import ArgumentError

R = np.random.default_rng(0)
HERE = "test_explaining.py"


def compiled(f, *calls, **options):
    """`f` compiled, and called with each of `calls`."""
    made = ad.compile(f, wait=True, **options)
    for args in calls:
        made(*args)
    return made


def line_with(text, part):
    (line,) = [line for line in text.splitlines() if part in line]
    return line


@pytest.fixture(scope="module")
def trained():
    model = nn.Sequential(nn.Linear(4, 8, rng=0), nn.Tanh(), nn.Linear(8, 3, rng=1))
    adam = optim.Adam(model.parameters(), lr=0.01)

    @ad.compile(wait=True)
    def step(x, y):
        adam.zero_grad()
        loss = nn.cross_entropy(model(x), y)
        loss.backward(retain_graph=False)
        adam.step()
        return loss

    for _ in range(2):
        step(R.normal(size=(9, 4)), R.integers(0, 3, 9))
    return step


def test_a_step_is_said_with_its_arguments_state_and_bytes(trained):
    said = trained.explain()
    head, call, way, *_ = said.splitlines()
    assert head.startswith("step (")
    assert head.endswith("1 signature, 1 specialization")
    assert call == "step(x: float64[9, 4], y: int64[9])"
    assert "writes" in way
    assert "products" in line_with(said, "native: ")
    assert "of values in between" in said
    assert "by NumPy" not in said
    assert "x @ 0.weight.T" in said


def test_the_plan_has_the_users_names_and_writes_state_in_place(trained):
    written = {value.name: value for value in trained.plan.values if value.home == "argument"}
    assert {"0.weight'", "2.bias'", "adam[0].mean'"} <= written.keys()
    assert written["0.weight'"].instead == "0.weight"
    assert written["0.weight'"].formula.startswith("0.weight - ")
    assert written["0.weight'"].last == len(trained.plan.rows)
    (loss,) = [value for value in trained.plan.values if value.name == "result"]
    assert loss.home == "result"
    assert trained.plan.count("product") >= 5
    assert 0 < trained.plan.memory.most <= trained.plan.memory.arena


def test_each_way_says_what_it_asks_and_where():
    def clipped(x):
        if np.sum(x) > 1.0:
            return x / np.sum(x)
        return x

    said = compiled(clipped, (np.ones(2),), (np.zeros(2),)).explain()
    assert "1 signature, 2 specializations" in said
    first, second = [line for line in said.splitlines() if "as long as" in line]
    assert first.strip().startswith("as long as bool(sum(x) > 1) is True ")
    assert second.strip().startswith("as long as bool(sum(x) > 1) is False ")
    assert first.endswith(": if np.sum(x) > 1.0:")
    assert HERE in first
    assert "stop unless" in said


def test_numpys_steps_are_said_with_reason_and_line():
    def ranked(x):
        return np.sort(np.exp(x) * 1j)

    f = compiled(ranked, (np.ones(3),))
    line = line_with(f.explain(), "by NumPy: ")
    assert "because: dtype complex128" in line
    assert f"{HERE}:" in line
    assert f.plan.count("NumPy") >= 1


def test_trees_tensors_numbers_and_static_arguments_are_named():
    def f(params, t, c, k, n=2):
        return params["w"] * t * c * k + n

    t = ad.tensor(np.ones(3, np.float32), requires_grad=True)
    f = compiled(f, ({"w": np.ones(3), "b": np.ones(2)}, t, 2.0, 3), static=("n",))
    assert (
        "f(c: float, k=3, params['b']: float64[2], params['w']: float64[3], t: tensor float32[3], n=2)" in f.explain()
    )
    assert "params['w']" in f.plan.values[0].formula
    assert "the backward pass" in f.explain()


def test_what_runs_as_it_is_says_why_and_where():
    def prints(x):
        print("x", end="")
        return x

    def reads_the_clock(x):
        return x * time.time()

    for f, why in ((prints, "calls print"), (reads_the_clock, "time")):
        line = line_with(compiled(f, (np.ones(2),)).explain(), "runs as it is, because")
        assert why in line
        assert f"{HERE}:{f.__code__.co_firstlineno + 1})" in line


def test_errors_on_symbols_name_the_line():
    def leaves(x):
        y = np.sin(x)
        return np.asarray(memoryview(y))

    said = compiled(leaves, (np.ones(2),)).explain()
    assert f"{HERE}:{leaves.__code__.co_firstlineno + 2})" in line_with(said, "runs as it is")


def test_after_one_call_it_says_what_it_waits_for():
    @ad.compile
    def each(x):
        yield from x

    @ad.compile
    async def later(x):
        return x

    list(each(np.ones(2)))
    later(np.ones(2)).close()
    for f in (each, later):
        assert "recorded at the second call" in line_with(f.explain(), "called once with 1 kind of arguments")
    list(each(np.ones(2)))
    later(np.ones(2)).close()
    assert "a generator" in line_with(each.explain(), "runs as it is, because")
    assert "is async" in line_with(later.explain(), "runs as it is, because")
    assert "called once" not in each.explain() + later.explain()


def test_before_the_first_call_there_is_nothing_to_see():
    f = ad.compile(lambda x: x + 1.0)
    assert "0 signatures" in f.explain()
    with pytest.raises(ArgumentError, match="call it first"):
        _ = f.plan
    with pytest.raises(ArgumentError, match="call it first"):
        ad.show(f)
    assert f._repr_html_().startswith("<pre>")


def test_without_native_code_the_picture_is_the_circuit():
    f = ad.compile(lambda x: np.sin(x) * 2.0, backend="numpy")
    f(1.0)
    assert f.plan is None
    assert 'run by NumPy: backend="numpy" was asked for' in f.explain()
    assert "there is no plan" in ad.show(f).text


def test_a_notebook_shows_plan_circuit_and_text(trained):
    page = trained._repr_html_()
    assert page.count("<svg") == 2
    assert page.count("<details>") == 2
    assert "step(x: float64[9, 4], y: int64[9])" in page
    picture = ad.show(trained)
    assert repr(picture) == f"<picture of the plan of step: {len(trained.plan.rows)} steps>"
    assert str(trained.plan) in picture.text
    assert "digraph" in picture.dot


def test_names_of_the_user_are_escaped(tmp_path):
    f = compiled(lambda tree: np.exp(tree["<script>"]), ({"<script>": np.ones(2)},))
    assert "<script>" in f.explain()
    assert "<script>" not in f._repr_html_()
    ad.show(f).save(tmp_path / "plan.svg")
    assert "<script>" not in (tmp_path / "plan.svg").read_text()


def test_long_programs_are_said_in_part():
    def many(x):
        for _ in range(80):
            x = np.tanh(x @ x)
        return x

    f = compiled(many, (np.eye(6),))
    assert len(f.plan.rows) == 80
    said = f.explain().splitlines()
    assert said[-1].strip() == "… up to step 80: print(f.plan)"
    assert len(said) < 100
