"""The page on adding an operation, to the letter: its block goes into a copy of the library, the walks accept it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def block():
    """The page's block for the library, without the import that the file has already."""
    page = (ROOT / "docs" / "add_an_op.md").read_text()
    found = re.search(r"```python\nfrom adjoint\.core\.constructors import elementwise\n\n(.*?)```", page, re.DOTALL)
    assert found, "the page shows no block for the library"
    return found[1]


def test_the_pages_block_is_accepted_by_the_walks(tmp_path):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("tests", "pyproject.toml", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    with (tmp_path / "src/adjoint/ops/elementwise/trigonometric.py").open("a") as file:
        file.write("\n\n" + block())
    walks = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").glob("test_registry*.py"))]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-k", "gudermannian", *walks]
    paths = os.pathsep.join([str(tmp_path / "src"), str(tmp_path)])
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= 25, done.stdout[-300:]
