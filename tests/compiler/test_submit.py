"""`submit`: calls beside the program give what they give one after another, whatever comes between."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import CancelledError, wait
from contextlib import suppress
from copy import deepcopy

import numpy as np
import pytest

import adjoint as ad
from adjoint import nn, optim


def training(optimizer=optim.Adam):
    """A model, its optimiser, and a compiled step that is ready to be submitted."""
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.BatchNorm1d(8), nn.Linear(8, 3))
    for p in model.parameters():
        with ad.no_grad():
            p[...] = rng.normal(size=p.shape)
    opt = optimizer(model.parameters(), lr=0.1)

    @ad.compile(wait=True)
    def step(x, y):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        return loss

    return model, opt, step


def batches(count):
    rng = np.random.default_rng(1)
    return rng.normal(size=(count, 16, 6)), rng.integers(0, 3, (count, 16))


def state_of(model, opt):
    values = [np.array(p.data) for p in (*model.parameters(), *model.buffers())]
    values += [np.array(p.grad.data) for p in model.parameters()]
    kept = opt.state_dict()["state"]
    return [*values, *(value for each in kept.values() for value in each.values()), np.array(opt.steps)]


def equal(a, b):
    return len(a) == len(b) and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("optimizer", [optim.Adam, optim.SGD])
def test_a_training_loop_gives_the_bits_of_plain_calls(optimizer):
    xs, ys = batches(30)
    model, opt, step = training(optimizer)
    expected = [step(x, y).item() for x, y in zip(xs, ys, strict=True)]
    plain = state_of(model, opt)
    model, opt, step = training(optimizer)
    futures = [step.submit(x, y) for x, y in zip(xs, ys, strict=True)]
    assert equal(state_of(model, opt), plain)
    assert [future.result().item() for future in futures] == expected


def test_plain_calls_reads_and_writes_come_in_the_order_of_the_program():
    xs, ys = batches(24)

    def run(call):
        model, opt, step = training()
        found = []
        for i, (x, y) in enumerate(zip(xs, ys, strict=True)):
            found.append(call(step, x, y))
            if i % 6 == 1:
                found.append(np.sum(model[0].weight).item())  # an operation
            if i % 6 == 2:
                with ad.no_grad():
                    model[0].weight[0, 0] = 0.5
            if i % 6 == 3:
                found.append(step(x, y).item())  # a plain call
            if i % 6 == 4:
                found.append(model[3].bias.grad.numpy().copy())
            if i % 6 == 5:
                found += [opt.steps, deepcopy(model)[0].weight.numpy(), repr(model[3].bias)]
            opt.lr = 0.1 / (i + 1)
        return [x.result() if isinstance(x, ad.Future) else x for x in found], state_of(model, opt)

    plain, state = run(lambda step, *given: step(*given))
    beside, then = run(lambda step, *given: step.submit(*given))
    assert all(np.array_equal(a, b) for a, b in zip(plain, beside, strict=True))
    assert equal(state, then)


def test_a_tensor_is_of_its_own_class_again():
    model, opt, step = training()
    x, y = (values[0] for values in batches(1))
    for _ in range(5):
        step.submit(x, y)
    assert model[0].weight.shape == (8, 6)
    assert np.isfinite(model[0].weight.data).all()
    assert type(model[0].weight) is nn.Parameter
    assert type(opt) is optim.Adam or opt.steps == 5
    assert type(opt) is optim.Adam


def test_arrays_may_be_overwritten_as_soon_as_they_are_submitted():
    double = ad.compile(lambda x, s: np.sum(x * s) + x, wait=True)
    rng = np.random.default_rng(3)
    x = np.zeros(300)
    double(x, 2.0)
    wrong, futures = 0, []
    for _ in range(1000):
        x[...] = rng.integers(0, 100)
        future = double.submit(x, 2.0)
        futures.append((future, x[0] * 600 + x[0]))
        x[rng.integers(300)] = -1e9
    wrong = sum(not np.array_equal(f.result(), np.full(300, value)) for f, value in futures)
    assert wrong == 0


def test_arrays_outside_are_taken_as_they_are():
    scale = np.ones(4)
    f = ad.compile(lambda x: x * scale, wait=True)
    f(np.ones(4))
    futures = []
    for i in range(50):
        scale[...] = i
        futures.append(f.submit(np.ones(4)))
    assert [future.result()[0] for future in futures] == list(range(50))


def test_what_writes_other_things_is_done_at_once():
    total = np.zeros(3)
    seen = []

    @ad.compile(wait=True)
    def add(x):
        total[...] = total + x
        return x * 2

    @ad.compile(wait=True)
    def note(x):
        seen.append(float(np.sum(x)))
        return x

    for k in range(5):
        assert add.submit(np.ones(3)).done()
        assert total[0] == k + 1
        note.submit(np.ones(3))
        assert len(seen) == k + 1


def test_random_draws_are_in_order():
    rng, other = np.random.default_rng(5), np.random.default_rng(5)
    noisy = ad.compile(lambda x: x + rng.normal(size=3), wait=True)
    found = [noisy.submit(np.zeros(3)).result() for _ in range(4)]
    assert np.array_equal(found, [other.normal(size=3) for _ in range(4)])


def looked_up(table):
    return ad.compile(lambda i: table[i] * 2.0, wait=True)


def test_an_error_comes_at_result_with_the_line():
    pick = looked_up(np.arange(5.0))
    assert pick.submit(np.array([1, 2])).result().tolist() == [2.0, 4.0]
    future = pick.submit(np.array([1, 9]))
    with pytest.raises(IndexError) as caught:
        future.result()
    assert isinstance(future.exception(), IndexError)
    assert any("test_submit.py" in note for note in caught.value.__notes__)
    assert any(entry.path.name == "test_submit.py" and "table[i]" in str(entry.statement) for entry in caught.traceback)
    assert pick.submit(np.array([0, 1])).result().tolist() == [0.0, 2.0]


def test_calls_after_one_that_failed_are_not_run_until_it_was_seen():
    model, opt, step = training()
    xs, ys = batches(6)
    step(xs[0], ys[0])
    before = state_of(model, opt)
    bad = ys[1].copy()
    bad[0] = 7
    failing = step.submit(xs[1], bad)
    later = [step.submit(x, y) for x, y in zip(xs[2:], ys[2:], strict=True)]
    with pytest.raises(ad.NotRunError, match=r"test_submit\.py:\d+"):
        later[-1].result()
    with pytest.raises(Exception, match="7"):
        failing.result()
    for p, value in zip(model.parameters(), before, strict=False):
        assert np.array_equal(p.data, value)
    step.submit(xs[2], ys[2]).result()
    assert opt.steps == 2


def test_who_reads_what_a_failed_call_should_have_written_gets_its_error():
    model, _, step = training()
    xs, ys = batches(2)
    step(xs[0], ys[0])
    step.submit(xs[0], ys[0] + 5)
    with pytest.raises(Exception, match=r"class numbers run from 0 to 2"):
        np.sum(model[0].weight).item()
    assert np.isfinite(np.sum(model[0].weight).item())


def test_futures_are_those_of_python():
    f = ad.compile(lambda x: x + 1.0, wait=True)
    f(np.zeros(2))
    told = []
    future = f.submit(np.zeros(2))
    future.add_done_callback(told.append)
    done, left = wait([future, f.submit(np.ones(2))], timeout=30)
    assert (len(done), len(left)) == (2, 0)
    assert told == [future]
    assert (future.done(), future.cancel(), future.exception()) == (True, False, None)

    async def main():
        return await asyncio.gather(*(f.submit(np.full(2, k)) for k in range(5)))

    assert [x[0] for x in asyncio.run(main())] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_future_among_the_arguments_is_waited_for():
    f = ad.compile(lambda x: x + 1.0, wait=True)
    f(np.zeros(2))
    assert f.submit(f.submit(f.submit(np.zeros(2)))).result().tolist() == [3.0, 3.0]


def test_a_cancelled_call_is_left_out():
    gate, begun = threading.Event(), threading.Event()
    _, opt, step = training(optim.SGD)
    xs, ys = batches(3)
    step(xs[0], ys[0])
    first = step.submit(xs[1], ys[1])
    first.add_done_callback(lambda _: (begun.set(), gate.wait(30)))
    begun.wait(30)
    second, third = step.submit(xs[2], ys[2]), step.submit(xs[1], ys[1])
    stopped = second.cancel()
    gate.set()
    third.result()
    assert opt.steps == 3 + (not stopped)
    if stopped:
        with pytest.raises(CancelledError):
            second.result()


def test_a_timeout_leaves_the_call_alone():
    f = ad.compile(lambda x: x @ x, wait=True)
    x = np.random.default_rng(0).normal(size=(700, 700))
    f(x)
    future = f.submit(x)
    with suppress(TimeoutError):
        future.result(timeout=0.0)
    assert np.array_equal(future.result(), f(x))


def test_calls_that_share_nothing_run_at_once_and_give_their_own():
    f = ad.compile(lambda x: np.sum(np.sin(x)) * x, wait=True)
    xs = [np.full(2000, k / 10) for k in range(40)]
    expected = [f(x) for x in xs]
    found = [f.submit(x) for x in xs]
    assert all(np.array_equal(future.result(), e) for future, e in zip(found, expected, strict=True))


def test_static_arguments_and_methods():
    f = ad.compile(lambda x, n: x * n, static=("n",), wait=True)
    assert [f.submit(np.ones(2), n).result()[0] for n in (2, 3, 2, 3)] == [2.0, 3.0, 2.0, 3.0]

    class Scaled:
        def __init__(self, by):
            self.by = by

        @ad.compile(wait=True)
        def call(self, x):
            return x * self.by

    a, b = Scaled(2.0), Scaled(5.0)
    assert [s.call.submit(np.ones(1)).result()[0] for s in (a, b, a, b)] == [2.0, 5.0, 2.0, 5.0]


def test_threads_submit_and_call_at_once():
    f = ad.compile(ad.grad(lambda x: np.sum(np.tanh(x) ** 2)), wait=True)
    xs = [np.linspace(-1, 1, 50) * k for k in range(8)]
    expected = [f(x) for x in xs]
    wrong = []

    def work(k):
        for n in range(100):
            x = xs[(k + n) % 8]
            got = f.submit(x).result() if n % 2 else f(x)
            if not np.array_equal(got, expected[(k + n) % 8]):
                wrong.append((k, n))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(16)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def run_apart(folder, body):
    """A program in a process of its own, after the beginning of `training`."""
    begin = """
        import os, signal, sys, time
        import numpy as np, adjoint as ad
        from adjoint import nn, optim
        rng = np.random.default_rng(0)
        model = nn.Linear(400, 300)
        opt = optim.SGD(model.parameters(), lr=1e-4)
        @ad.compile(wait=True)
        def step(x):
            opt.zero_grad()
            loss = np.mean(model(x) ** 2)
            loss.backward()
            opt.step()
            return loss
        x = rng.normal(size=(500, 400))
        step(x)
    """
    path = folder / "program.py"  # what is to be recorded needs a source
    path.write_text(textwrap.dedent(begin) + textwrap.dedent(body))
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=240, check=False)


def test_exit_finishes_what_was_submitted(tmp_path):
    done = run_apart(
        tmp_path,
        """
        futures = [step.submit(x) for _ in range(8)]
        futures[-1].add_done_callback(lambda f: print("last", opt.steps if False else "done"))
    """,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "last done", "")


def test_exit_shows_errors_that_nobody_saw(tmp_path):
    done = run_apart(
        tmp_path,
        """
        table = np.arange(3.0)
        w = ad.tensor(np.zeros(2), requires_grad=True)
        own = optim.SGD([w], lr=0.1)
        @ad.compile(wait=True)
        def pick(i):
            own.zero_grad()
            np.sum(w * table[i]).backward()
            own.step()
        pick(np.array([0, 1]))
        pick.submit(np.array([0, 9]))
    """,
    )
    assert done.returncode == 0
    assert all(part in done.stderr for part in ("nobody asked for its result", "IndexError", "submitted at"))


@pytest.mark.parametrize("kept", [False, True])
def test_errors_of_futures_are_shown_when_these_are_gone(tmp_path, kept):
    """Also while the program goes on, and those that are still there at its end."""
    done = run_apart(
        tmp_path,
        f"""
        @ad.compile(wait=True)
        def pick(i):
            return np.arange(3.0)[i]
        from adjoint.core.threads.failures import SHOWN
        future = pick.submit(np.array([1, 9]))  # at once, since it is the first
        if not {kept}:
            del future
            SHOWN._end()
            os._exit(0)  # without what runs at the end
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("nobody asked") == 1
    assert "IndexError" in done.stderr


def test_errors_that_somebody_saw_are_not_shown(tmp_path):
    done = run_apart(
        tmp_path,
        """
        @ad.compile(wait=True)
        def pick(i):
            return np.arange(3.0)[i]
        future = pick.submit(np.array([1, 9]))
        assert isinstance(future.exception(), IndexError)
        """,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_finds_all_done_and_can_go_on(tmp_path):
    done = run_apart(
        tmp_path,
        """
        futures = [step.submit(x) for _ in range(6)]
        pid = os.fork()
        assert opt.steps == 7 and all(f.done() for f in futures)
        futures[-1].result()
        more = [step.submit(x) for _ in range(3)]
        last = more[-1].result().item()
        assert opt.steps == 10
        if pid == 0:
            print(last, flush=True)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        print(last, flush=True)
    """,
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    assert first == second


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_interrupts_leave_the_program_whole(tmp_path):
    done = run_apart(
        tmp_path,
        """
        import random, threading
        random.seed(4)
        hits, steps = 0, 0
        plain = signal.getsignal(signal.SIGINT)
        for turn in range(60):
            timer = threading.Timer(random.random() * 0.02, lambda: os.kill(os.getpid(), signal.SIGINT))
            try:
                timer.start()
                for _ in range(6):
                    future = step.submit(x)
                    steps += 1
                future.result()
                time.sleep(0.05)
            except KeyboardInterrupt:
                hits += 1
            timer.join()
        try:
            time.sleep(0.1)
        except KeyboardInterrupt:
            hits += 1
        assert hits > 30, hits
        assert steps <= opt.steps - 1 <= steps + hits, (steps, opt.steps, hits)
        value = step.submit(x).result().item()
        assert type(model.weight) is nn.Parameter
        with ad.no_grad():
            assert np.isfinite(np.sum(model.weight).item())
        print("whole")
    """,
    )
    assert done.stdout.strip() == "whole", done.stderr[-2000:]


def test_running_ahead_is_bounded():
    _, _, step = training()
    xs, ys = batches(1)
    step(xs[0], ys[0])
    most = 0
    futures = []
    for _ in range(200):
        futures.append(step.submit(xs[0], ys[0]))
        most = max(most, sum(not f.done() for f in futures[-20:]))
    assert most <= 8
    futures[-1].result()
