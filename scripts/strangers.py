"""Write the table of other people's packages at the end of `docs/conformance.md`.

Each program of `tests/strangers/packages` uses one package as its users do. It is differentiated unchanged, with the
package followed by `ad.through`, and compared with differences of the plain program. A derivative that is wrong, a
package that is not installed in the version of the extra `conformance`, and one that the page calls right and no longer
is, all make the script fail.

    pip install -e ".[conformance]"
    python scripts/strangers.py            write the table
    python scripts/strangers.py --check    compare with the table instead
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import adjoint as ad
from tests.strangers.judge import MODES, Verdict, judge

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "conformance.md"
HEADING = "## Packages"  # the rest of the page is written by `scripts/conformance.py`
REASONS = {
    "dtw_speech": " (the distances are added up in compiled code)",
    "pykalman_sensor": " (its observations are masked arrays)",
    "tmm_mirror": " (an infinite thickness, which it never reads, times a gradient of 0)",
}
FOLDER = ROOT / "tests" / "strangers" / "packages"
ROW = re.compile(r"^\| (\S+) (\S+) \| \[`(\w+)`\].*? \| (.*) \|$", re.MULTILINE)


class Row(NamedTuple):
    package: str
    version: str
    program: str
    cells: tuple[str, ...]

    @property
    def right(self) -> bool:
        return self.cells[:2] == ("right", "right")


def pins() -> dict[str, str]:
    """The packages of the extra `conformance` and their versions."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = project["project"]["optional-dependencies"]["conformance"]
    return {name.lower(): pinned for name, _, pinned in (line.partition("==") for line in lines)}


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*_*.py"))


def package_of(name: str) -> str:
    """The distribution that a program is about, read without importing it."""
    found = re.search(r'^PACKAGE, FOLLOWED = "([\w.-]+)"', (FOLDER / f"{name}.py").read_text(encoding="utf-8"), re.M)
    assert found is not None, name
    return found[1]


def missing(name: str) -> str:
    """Why a program can not run here; empty if it can."""
    package = package_of(name)
    wanted = pins()[package.lower()]
    try:
        installed = version(package)
    except PackageNotFoundError:
        return f"{package} is not installed: pip install -e '.[conformance]'"
    return "" if installed == wanted else f"{package} is installed as {installed}; the table is for {wanted}"


def verdict_of(name: str, modes: tuple[str, ...] = MODES) -> Verdict:
    module = import_module(f"tests.strangers.packages.{name}")
    with ad.through(*module.FOLLOWED):
        return judge(module.program, module.POINT, modes)


def rows(page: str) -> list[Row]:
    """The rows of a page."""
    return [Row(p, v, n, tuple(cells.split(" | "))) for p, v, n, cells in ROW.findall(page)]


def row(name: str, verdict: Verdict) -> str:
    package = package_of(name)
    what = (FOLDER / f"{name}.py").read_text(encoding="utf-8").partition('"""')[2].partition('"""')[0].strip(". \n")
    cells = [cell(verdict.outcomes[mode]) for mode in MODES]
    tail = [f"{verdict.difference:.0e}", f"{verdict.ratio:.0f}"] if np.isfinite(verdict.ratio) else ["", ""]
    program = f"[`{name}`](../tests/strangers/packages/{name}.py): {what}"
    return f"| {package} {version(package)} | {program} | {' | '.join(cells + tail)} |"


def cell(outcome: str) -> str:
    return outcome if outcome == "right" or outcome.startswith("WRONG") else outcome.partition(":")[0]


def table(verdicts: dict[str, Verdict]) -> Iterator[str]:
    good = [name for name, verdict in verdicts.items() if {verdict.outcomes[m] for m in MODES[:2]} == {"right"}]
    packages = {package_of(name) for name in good}
    yield HEADING
    yield ""
    yield f"{len(packages)} packages, installed as they are, each with a program that a user of it could have written."
    yield "Inside `ad.through(…)` the programs are differentiated unchanged; values and derivatives are compared with"
    yield "the plain program and its differences. Any word but “right” is the error that refuses the mode. The last"
    yield "columns are the largest relative difference, and how many times as long as the plain program the value"
    yield f"and its gradient take in one run. Written by `scripts/strangers.py`, with numpy {np.__version__}."
    yield ""
    yield f"| package | program | {' | '.join(MODES)} | difference | time |"
    yield "|---|---|" + "---|" * (len(MODES) + 2)
    for name, verdict in verdicts.items():
        yield row(name, verdict)
    bad = [name for name in verdicts if name not in good]
    if bad:
        yield ""
        yield "What stands in the way of those that are not right:"
        yield ""
        for name in bad:
            yield f"- {package_of(name)}{REASONS.get(name, '')}: `{verdicts[name].outcomes['grad'].replace('|', '/')}`"


def main() -> int:
    absent = [why for name in names() if (why := missing(name))]
    if absent:
        print(*absent, sep="\n", file=sys.stderr)
        return 1
    verdicts = {name: verdict_of(name) for name in names()}
    page = PAGE.read_text(encoding="utf-8")
    known = {r.program for r in rows(page) if r.right}
    wrong = [f"{n}: {m} {o}" for n, v in verdicts.items() for m, o in v.outcomes.items() if o.startswith("WRONG")]
    lost = [
        f"{n} was right, and is no longer: {verdicts[n].outcomes}"
        for n in sorted(known & set(verdicts))
        if {verdicts[n].outcomes[m] for m in MODES[:2]} != {"right"}
    ]
    if "--check" not in sys.argv:
        above = page.partition(HEADING)[0].rstrip()
        PAGE.write_text("\n".join((above, "", *table(verdicts))) + "\n", encoding="utf-8")
    right = sum({v.outcomes[m] for m in MODES[:2]} == {"right"} for v in verdicts.values())
    print(f"{right} of {len(verdicts)} programs are right")
    for line in (*wrong, *lost):
        print(line, file=sys.stderr)
    return bool(wrong or lost)


if __name__ == "__main__":
    raise SystemExit(main())
