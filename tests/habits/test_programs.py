"""Training programs as PyTorch's users write them have PyTorch's losses, to 1e-10."""

import json
from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from tests.habits.programs import PROGRAMS

LOSSES = json.loads((Path(__file__).parent / "torch_losses.json").read_text())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_has_pytorchs_losses(program):
    np.testing.assert_allclose(program(ad), LOSSES[program.__name__], rtol=1e-10)
