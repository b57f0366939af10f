"""Pictures of a measured run: every task is there, in its worker's row, to scale."""

import itertools

import numpy as np
import pytest

import adjoint as ad
from adjoint.native.call import pool
from adjoint.pictures.scene import MARGIN, Rect, Text
from adjoint.pictures.schedule import NAMES, WIDTH, schedule_scene


@pytest.fixture
def compiled():
    f = ad.compile(lambda x, y: (np.sum(np.sin(x) * np.exp(-x * x), axis=1), x @ y, np.sum(x)), wait=True)
    f(np.ones((800, 500)), np.ones((500, 300)))
    ad.set_threads(2)
    yield f
    ad.set_threads(None)


def test_every_step_of_the_plan_is_measured(compiled):
    schedule = compiled.schedule()
    assert {box.step for box in schedule.boxes} == {row.number for row in compiled.plan.rows}
    assert all(0 <= box.begun <= box.over <= schedule.time for box in schedule.boxes)
    if pool.supported():
        steps = [box.step for box in schedule.boxes]
        assert len(steps) > len(set(steps))  # some came in parts
    for worker in range(schedule.workers + 1):
        spans = sorted((box.begun, box.over) for box in schedule.boxes if box.worker == worker)
        assert all(over <= begun for (_, over), (begun, _) in itertools.pairwise(spans))
        assert 0 <= schedule.busy(worker) <= 1


def test_boxes_are_drawn_to_scale_in_the_row_of_their_worker(compiled):
    schedule = compiled.schedule()
    scene = schedule_scene(schedule, "f")
    drawn = [shape for shape in scene.shapes if isinstance(shape, Rect)]
    assert len(drawn) == len(schedule.boxes)
    rows = {}
    for rect, box in zip(drawn, schedule.boxes, strict=True):
        scale = WIDTH / schedule.time
        assert rect.x == pytest.approx(MARGIN + NAMES + box.begun * scale)
        assert rect.width == pytest.approx(max((box.over - box.begun) * scale, 0.5))
        rows.setdefault(box.worker, set()).add(rect.y)
        assert f"step {box.step}: {box.label}" in rect.tip
    assert all(len(tops) == 1 for tops in rows.values())
    assert "the caller" in [shape.text for shape in scene.shapes if isinstance(shape, Text)]


def test_show_draws_a_schedule(compiled, tmp_path):
    picture = ad.show(compiled, "schedule")
    assert "the caller" in picture.text
    assert "us," in picture.text
    picture.save(tmp_path / "run.svg")
    assert "the caller" in (tmp_path / "run.svg").read_text()
    assert repr(picture).endswith("tasks>")


def test_a_measured_run_changes_no_state():
    w = ad.tensor(np.ones(100_000), requires_grad=True)
    optimizer = ad.optim.SGD([w], lr=0.1)

    @ad.compile(wait=True)
    def step(x):
        optimizer.zero_grad()
        np.sum(w * w * x).backward()
        optimizer.step()

    step(np.ones(100_000))
    before = w.numpy().copy()
    ad.show(step, "schedule")
    assert np.array_equal(w.numpy(), before)
    assert optimizer.steps == 1


def test_without_native_code_there_is_no_schedule():
    f = ad.compile(lambda x: x + 1.0, backend="numpy")
    f(np.ones(2))
    f(np.ones(2))
    with pytest.raises(ad.ArgumentError, match="there is no native code"):
        ad.show(f, "schedule")
