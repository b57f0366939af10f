"""Run the tests on other interpreters: every one found, with the newest and the oldest NumPy and SciPy admitted.

``python scripts/test_pythons.py`` tries all of them; ``… newest`` the newest interpreter alone, if `.venv` has another.
Behind it may stand which tests: ``… newest tests/native tests/twin``.
Each has an environment of its own, `.venv-3.13-newest` and so on, which stays for the next time.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MINOR = int(re.search(r"3\.(\d+)", PROJECT["requires-python"])[1])


def interpreters():
    """``{(3, 12): path}`` of the interpreters that are admitted, on the path and among pyenv's."""
    places = [Path(p) for p in os.environ.get("PATH", "").split(os.pathsep)]
    places += sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin"))
    found = {}
    for place in places:
        for path in sorted(place.glob("python3.*")):
            version = re.fullmatch(r"python3\.(\d+)", path.name)
            if version and int(version[1]) >= MINOR and (3, int(version[1])) not in found and runs(path):
                found[3, int(version[1])] = path
    return dict(sorted(found.items()))


def runs(path):
    """Whether `path` starts: pyenv's shims stand for interpreters that are not switched on, too."""
    return subprocess.run([path, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode == 0


def oldest(name):
    """The oldest release of `name` that is admitted, as a requirement."""
    lowest = next(d for d in PROJECT["dependencies"] if re.match(rf"{name}>=", d)).partition(">=")[2]
    return f"{name}=={lowest}.*"


def environment(python, version, which):
    """The folder of an environment for an interpreter, with the newest or the oldest NumPy and SciPy."""
    folder = ROOT / f".venv-{version[0]}.{version[1]}-{which}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([python, "-m", "venv", folder], check=True)
        pins = [oldest("numpy"), oldest("scipy")] if which == "oldest" else []
        install = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--editable"]
        subprocess.run([*install, ".[dev,examples,plot]", *pins], cwd=ROOT, check=True)
        (folder / "ready").touch()
    return folder


def main():
    found = interpreters()
    first, last = min(found), max(found)
    rounds = [(version, "newest") for version in found] + [(first, "oldest")]
    tests = sys.argv[2:]
    if sys.argv[1:2] == ["newest"]:
        ready = subprocess.run([ROOT / ".venv/bin/python", "-V"], capture_output=True, text=True, check=False).stdout
        rounds = [] if f"{last[0]}.{last[1]}." in ready else [(last, "newest")]
    failed = []
    for version, which in rounds:
        print(f"Python {version[0]}.{version[1]}, the {which} NumPy and SciPy", flush=True)
        folder = environment(found[version], version, which)
        command = [folder / "bin/python", "-m", "pytest", "-q", "-n", "auto", *tests]
        if subprocess.run(command, cwd=ROOT, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"}, check=False).returncode:
            failed.append(f"{version[0]}.{version[1]} {which}")
    if failed:
        sys.exit(f"the tests fail on {', '.join(failed)}")


if __name__ == "__main__":
    main()
