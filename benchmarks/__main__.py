"""``python -m benchmarks [names…] [--rounds N] [--quick] [--output FILE]``."""

from __future__ import annotations

import argparse
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks.peers import PEERS, installed, one_thread

NAMES = (
    "chain",
    "fanout",
    "gru",
    "layers",
    "tiny",
    "mlp",
    "filling",
    "hessian",
    "expr",
    "sparse",
    "forward",
    "vmap",
    "linalg",
    "equations",
    "loops",
    "contractions",
    "deep",
    "graph",
    "native",
    "elementwise",
    "compile",
    "ready",
    "recording",
    "dispatch",
    "checkpoint",
    "memory",
    "growth",
    "ranks",
    "lazy",
    "imports",
)
RESULTS = Path(__file__).parent / "results" / "eager.md"


def main() -> None:
    """Measure the workloads named on the command line, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure adjoint beside its peers.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"which workloads: {', '.join(NAMES)} (all)")
    parser.add_argument("--rounds", type=int, default=11, help="samples per figure (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="three rounds of the smallest sizes: does it all run?")
    parser.add_argument("--output", type=Path, help=f"where to write (a full run: {RESULTS.name} in its results)")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"no workload {', '.join(sorted(unknown))}; these are: {', '.join(NAMES)}")
    if given.rounds < 1:
        parser.error(f"--rounds: at least 1; got {given.rounds}")
    one_thread()  # before anything imports NumPy
    measure(given.names or NAMES, 3 if given.quick else given.rounds, given.quick, given.output)


def measure(names: tuple[str, ...], rounds: int, quick: bool, output: Path | None) -> None:
    """Measure, print each table as it is ready, and write the page if all was measured in full."""
    from rich.console import Console

    from benchmarks import report
    from benchmarks.harness import run

    console, sections = Console(), []
    for peer, module in PEERS.items():
        if not installed(peer):
            console.print(f"{peer} is left out: {module} is not installed (pip install 'adjoint[bench]')", markup=False)
    console.print(report.machine())
    for name in names:
        workload = import_module(f"benchmarks.workloads.{name}")
        rows = []
        for case in workload.cases(small=quick):
            with console.status(f"{workload.TITLE}: {case.name}"):
                # Budgets are for the full sizes.
                rows.append(run(replace(case, budgets=()) if quick else case, rounds))
        console.print(report.terminal(workload.TITLE, rows))
        lines = [*workload.summary(rows), ""] if hasattr(workload, "summary") else []
        for line in lines:
            console.print(line, markup=False, soft_wrap=True)
        sections.append([*report.markdown(workload.TITLE, workload.ABOUT, rows), *lines])
    if output is None and not quick and tuple(names) == NAMES:
        output = RESULTS
    if output is not None:
        report.write(output, sections, rounds)
        console.print(f"written: {output}")


if __name__ == "__main__":
    main()
