"""Trainings that are killed at random moments end with the bits of one that never was."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the script forks")
def test_thirty_kills() -> None:
    script = Path(__file__).parents[2] / "scripts" / "kill_and_resume.py"
    done = subprocess.run([sys.executable, script, "--kills", "30"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"30 kills in \d+ runs: every bit as without\n", done.stdout)
