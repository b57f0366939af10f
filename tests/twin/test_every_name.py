"""What functions give does not depend on the names that other classes of the program define."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = ["transforms/test_written_after_use.py", "compiler/test_histories.py", "compiler/test_inside.py"]


@pytest.mark.parametrize("path", FILES)
def test_with_a_class_of_every_name(path):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:xdist", "-p", "every_name"]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(
        [*command, str(TESTS / path)], check=False, cwd=TESTS.parent, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
