"""Every workload runs, and every peer computes the same: a comparison of different things would say nothing."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import __main__ as command
from benchmarks import report
from benchmarks.harness import Budget, Case, Row, interleaved, plain
from benchmarks.peers import PEERS, installed
from benchmarks.workloads import (
    checkpoint,
    contractions,
    deep,
    elementwise,
    equations,
    expr,
    filling,
    forward,
    graph,
    layers,
    linalg,
    memory,
    native,
    sparse,
    tiny,
    vmap,
)
from benchmarks.workloads import compile as compiling

# What the peers warn about when they are imported is their own affair.
pytestmark = pytest.mark.filterwarnings("ignore")

TIMED = ("chain", "fanout", "gru", "mlp", "hessian")


def timed_cases() -> list[Any]:
    rows = [(name, case) for name in TIMED for case in import_module(f"benchmarks.workloads.{name}").cases(small=True)]
    return [pytest.param(case, id=f"{name}: {case.name}") for name, case in rows]


@pytest.mark.parametrize("case", timed_cases())
def test_every_peer_computes_the_same(case: Case) -> None:
    programs = case.build()
    expected = plain(programs["NumPy"]())
    assert any(np.any(e) for e in expected)
    for peer, program in programs.items():
        # Twice: the second call must neither add to the gradients of the first nor change them.
        for results in (program(), program()):
            found = plain(results)
            assert len(found) == len(expected)
            for f, e in zip(found, expected, strict=True):
                tolerance = 1e-10 if e.dtype == np.float64 else 3e-5
                assert f.dtype == e.dtype, peer
                np.testing.assert_allclose(f, e, rtol=tolerance, atol=tolerance, err_msg=peer)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in contractions.cases(small=True)])
def test_sums_of_products_are_the_same_by_every_peer(case: Case) -> None:
    found = {peer: plain(program()) for peer, program in case.build().items()}
    for peer in found.keys() - {"C"}:
        for x, y in zip(found[peer], found["eager"], strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5 if x.dtype == np.float32 else 1e-9, atol=1e-6, err_msg=peer)
    program = case.build.args[0]  # type: ignore[attr-defined]  # a partial function of one
    if program.derivative == "each":
        value = np.stack([program.function(np, *args) for args in zip(*program.args, strict=True)])
    else:
        value = np.asarray(program.function(np, *program.args))
    for results in [found["C"]] if "C" in found else []:
        np.testing.assert_allclose(results[0], value, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", list(filling.cases(small=True)), ids=lambda case: case.name)
def test_programs_as_they_are_give_what_stands_beside_them(case: Case) -> None:
    ours, *others = case.build().values()
    assert others
    for other in others:
        for found, expected in zip(ours(), other(), strict=True):
            assert np.any(expected)
            np.testing.assert_allclose(found, expected, rtol=3e-5, atol=1e-7)


@pytest.mark.parametrize("name", TIMED)
def test_adjoint_and_numpy_are_always_there(name: str) -> None:
    for case in import_module(f"benchmarks.workloads.{name}").cases(small=False):
        assert {budget.peer for budget in case.budgets} <= PEERS.keys()
        assert case.per >= 1
    assert {"adjoint", "NumPy"} <= import_module(f"benchmarks.workloads.{name}").EVERYONE.keys()


@pytest.mark.parametrize("case", [*layers.cases(small=True), *tiny.cases(small=True)], ids=lambda case: case.name)
def test_layers_are_the_same_by_every_peer(case: Case) -> None:
    found = {peer: plain(program()) for peer, program in case.build().items()}
    for peer, gradients in found.items():
        for g, e in zip(gradients, found["adjoint"], strict=True):
            np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-4, err_msg=peer)


def test_expressions_have_the_same_gradients_everywhere() -> None:
    for case in expr.cases(small=True):
        if case.measure is not None:
            samples = case.measure(2)
            assert samples["adjoint"][0] < samples["tree"][0]
            continue
        calls = case.build()
        expected = calls["adjoint"]()
        for peer, call in calls.items():
            if isinstance(expected[0], float | np.ndarray):
                for ours, theirs in zip(expected, call(), strict=True):
                    np.testing.assert_allclose(ours, theirs, rtol=1e-10, err_msg=f"{case.name}: {peer}")


def test_gradients_beside_plain_calls_have_the_shapes_of_their_arguments() -> None:
    for name, plain_call, ours, arrays, _ in linalg.rows(8):
        calls = linalg.programs(plain_call, ours, arrays)
        gradients = calls["adjoint"]()
        assert [g.shape for g in gradients] == [a.shape for a in arrays], name
        assert all(np.isfinite(g.numpy()).all() and np.any(g.numpy()) for g in gradients), name
        theirs, mine = calls["NumPy"](), linalg.listed(ours(*arrays))
        for a, b in zip(theirs, mine, strict=True):
            np.testing.assert_allclose(np.abs(a), np.abs(b), rtol=1e-8, atol=1e-8, err_msg=name)


def test_elementwise_operations_are_measured_in_each_layout() -> None:
    for operation in elementwise.operations():
        x = elementwise.array(operation.dtypes[0], (8, 12), operation.low, operation.high)
        for other in elementwise.layouts(x).values():
            np.testing.assert_array_equal(other, x)
        with np.errstate(all="ignore"):
            found = operation.function(*(x,) * operation.count)
        assert all(np.size(part) for part in (found if isinstance(found, tuple) else (found,))), operation.name
        pair = elementwise.arguments(operation, operation.dtypes[0], (8, 12))["gaps"]
        assert len(pair) == operation.count
        assert operation.count == 1 or np.any(pair[0] != pair[1])  # of equal numbers, logaddexp is a sum
    first = next(elementwise.cases(small=True))
    assert first.measure is not None
    assert all(sample > 0 for samples in first.measure(1).values() for sample in samples)
    assert first.parts.keys() == {"C", "Fortran", "gaps", "rows"}
    assert all(ratio > 0 for ratio in first.parts.values())


def test_cells_above_numpys_time_are_counted() -> None:
    ratios = {"exp, float32": {"C": 0.9, "rows": 1.02}, "log, float64": {"C": 1.2}, "conj, float32": {"C": 1.0}}
    rows = [Row(Case(name, parts=parts)) for name, parts in ratios.items()]
    assert list(elementwise.summary(rows)) == [
        "Cells above 1 / 1.05 times NumPy's time:",
        "- all: cells 2 / 1 of 4",
        "- by dtype: float32 1 / 0 of 3, float64 1 / 1 of 1",
        "- by layout: C 1 / 1 of 3, rows 1 / 0 of 1",
    ]


def test_native_programs_compute_what_their_peers_do() -> None:
    for case in native.cases(small=True):
        if case.measure is not None:
            assert all(sample > 0 for samples in case.measure(1).values() for sample in samples)
            continue
        programs = case.build()
        expected = plain(programs["NumPy"]())
        for peer, program in programs.items():
            for found, right in zip(plain(program()), expected, strict=True):
                tolerance = 1e-10 if right.dtype == np.float64 else 3e-5
                np.testing.assert_allclose(found, right, rtol=tolerance, atol=tolerance, err_msg=f"{case.name}: {peer}")


def test_compiled_steps_learn_as_all_others_do() -> None:
    calls = compiling.programs(compiling.STEPS, compiling.SMALL)
    losses = {peer: [plain(call())[0] for _ in range(3)] for peer, call in calls.items()}
    assert {"adjoint", "eager"} <= losses.keys()
    for peer, found in losses.items():
        assert all(loss.dtype == np.float32 for loss in found), peer
        np.testing.assert_allclose(found, losses["eager"], rtol=1e-5, err_msg=peer)


@pytest.mark.parametrize("scan", [True, False])
def test_pendulums_have_one_gradient(scan: bool) -> None:
    calls = compiling.programs(compiling.pendulum(3, scan))
    for peer, call in calls.items():
        np.testing.assert_allclose(plain(call()), plain(calls["eager"]()), rtol=1e-12, err_msg=peer)


def test_what_compiling_costs_is_measured_on_both_sides() -> None:
    for which in (1, 2):
        early = compiling.early_calls(compiling.SMALL, which, 2)
        assert {peer: len(samples) for peer, samples in early.items()} == {"adjoint": 2, "eager": 2}
        assert all(0 < seconds < 5 for samples in early.values() for seconds in samples)
    ready = compiling.until_ready(compiling.SMALL, 1)
    assert all(0 < seconds < 60 for samples in ready.values() for seconds in samples)
    assert compiling.arena(8, 1)["adjoint"][0] > 4 * 8 * 8 * 4  # the hidden layer's numbers at least


def test_equations_have_the_gradient_of_the_augmented_one() -> None:
    for case in equations.cases(small=True):
        calls = case.build()
        if "NumPy" in calls:
            for ours, theirs in zip(calls["adjoint"](), calls["NumPy"](), strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)
        else:
            (states,) = calls["one solution"]()
            found = calls["adjoint"]()
            assert [x.shape for x in found] in ([(2,), (4,)], [(2, 20, 4)])
            assert states.shape[0] == 2


def test_forward_mode_is_measured_on_the_same_derivative() -> None:
    calls = forward.chain(8)
    (tangent,), (gradient,) = calls["adjoint"](), calls["reverse"]()
    np.testing.assert_allclose(tangent, gradient, rtol=1e-12)  # elementwise: the Jacobian is diagonal
    chain, mean, *worst = forward.cases(small=True)
    assert {case.name for case in worst} == {"sin", "matmul", "sort"}
    ratios = [Row(case, case.measure(3)).ratio("reverse") for case in worst if case.measure]
    assert sorted(ratios, reverse=True) == ratios
    assert min(mean.measure(3)["adjoint"]) > 0 if mean.measure else False
    assert chain.budgets == mean.budgets == forward.BUDGETS


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the process from /proc")
def test_deep_chains_have_one_gradient() -> None:
    expected = np.float64(1.0)
    x = np.array([0.5])
    for _ in range(300):
        expected, x = expected * np.cos(x[0]), np.sin(x)
    for peer in filter(installed, deep.EVERYONE):
        assert deep.once(peer, 300)["gradient"] == pytest.approx(expected, rel=1e-12), peer


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the process from /proc")
def test_checkpointed_chains_have_one_gradient_and_the_least_memory() -> None:
    expected = checkpoint.step("adjoint", 4)()
    for peer in filter(checkpoint.there, checkpoint.EVERYONE):
        for ours, theirs in zip(expected, plain(checkpoint.step(peer, 4)()), strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-9, atol=1e-9)
    found = checkpoint.measure(16, ("adjoint", checkpoint.WITHOUT))["live"]
    assert found["adjoint"][0] < 1.25 * found[checkpoint.OPTIMUM][0] < 0.8 * found[checkpoint.WITHOUT][0]


def test_peers_take_turns() -> None:
    turns: list[str] = []
    calls = {name: lambda name=name: turns.append(name) for name in "abc"}
    samples = interleaved(calls, rounds=3, seconds=0.0)
    warm_up, rounds = turns[:6], ["".join(turns[i : i + 3]) for i in range(6, len(turns), 3)]
    assert warm_up == list("aabbcc")
    assert rounds == ["abc", "bca", "cab"]
    assert {name: len(values) for name, values in samples.items()} == {"a": 3, "b": 3, "c": 3}


def test_budgets_are_held_against_ratios_within_a_round() -> None:
    samples = {"adjoint": [1.0, 20.0, 3.0], "NumPy": [2.0, 40.0, 4.0]}
    row = Row(Case("x", budgets=(Budget("NumPy", 0.4), Budget("NumPy", 0.6), Budget("PyTorch", 1.0))), samples)
    assert [met for met, _ in report.verdicts(row)] == [False, True]
    assert row.ratio("NumPy") == 0.5
    beyond = Row(
        Case("y", per=10, unit="B", budgets=(Budget("NumPy", 2.0, beyond=True),)), {"adjoint": [50.0], "NumPy": [20.0]}
    )
    assert report.verdicts(beyond) == [(False, "missed: 3 B > 2 B beyond NumPy")]


def test_the_page_has_every_peer_and_verdict() -> None:
    row = Row(Case("few", budgets=(Budget("NumPy", 2.0),)), {"adjoint": [3e-6], "NumPy": [2e-6]})
    other = Row(Case("many"), {"adjoint": [0.5]})
    lines = list(report.markdown("Title", "What it is.", [row, other]))
    assert lines[4] == "| | adjoint | NumPy | budget |"
    assert lines[6] == f"| few | 3 µs | 2 µs (1.5{report.TIMES}) | met: 1.50 ≤ 2 {report.TIMES} NumPy |"
    assert lines[7] == f"| many | 500 ms | {report.NONE} |  |"
    assert "numpy" in report.machine()


@pytest.mark.parametrize(
    ("arguments", "message"), [(["chian"], "no workload chian"), (["--rounds", "0"], "at least 1")]
)
def test_wrong_arguments_are_explained(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command.main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux keeps this account")
def test_memory_is_that_of_the_arrays() -> None:
    """Twenty operations keep ten arrays of 8 MB for the backward pass, and a few more are there at once."""
    (most,) = memory.measure("chain", 1_000_000, 1)["adjoint"]
    assert 80e6 < most < 112e6


def test_per_example_gradients_are_the_same_for_every_peer_and_average_to_the_ordinary_one() -> None:
    (case,) = vmap.cases(small=True)
    found = {peer: [plain(x) for x in call()] for peer, call in case.build().items()}
    mean = found.pop("one gradient")
    for values in found.values():
        for ours, theirs, average in zip(found["adjoint"], values, mean, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(np.mean(ours, axis=0), average, rtol=1e-9, atol=1e-12)


def test_a_sparse_jacobian_is_the_one_by_differences() -> None:
    rows = list(sparse.cases(small=True))
    assert [row.name.split(": ")[1] for row in rows] == ["pattern", "colours", "values, pattern known", "all of it"]
    where, colours = rows[0].build()["adjoint"]()[0], rows[1].build()["adjoint"]()[0]
    assert np.array_equal(np.bincount(where), np.full(196, 5))
    assert colours.max() == 4
    parts = rows[2].build()
    np.testing.assert_allclose(parts["adjoint"]()[0], parts["NumPy"]()[0], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(rows[3].build()["adjoint"]()[0], parts["adjoint"]()[0])


def test_graphs_compute_what_runs_without_them() -> None:
    made, *others = graph.cases(small=True)
    assert made.measure is not None
    assert len(made.measure(2)["adjoint"]) == 2
    for case in others:
        results = {peer: plain(program()) for peer, program in case.build().items()}
        assert np.all(results["adjoint"])
        if "NumPy" in results:
            assert results["adjoint"][0].tobytes() == results["NumPy"][0].tobytes()
