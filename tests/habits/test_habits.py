"""What a PyTorch user's hand types works, with PyTorch's values, or says what to write."""

from pathlib import Path

import numpy as np
import pytest

import adjoint as ad
from tests.habits import table
from tests.habits.table import compare

VALUES = np.load(Path(__file__).parent / "torch_values.npz")


def names(tmp_path):
    return table.namespace(ad, tmp_path / "w.safetensors", lambda x: ad.tensor(x.copy()))


@pytest.mark.filterwarnings("ignore:std with dim:UserWarning", "ignore:var with dim:UserWarning")
@pytest.mark.parametrize("line", table.LINES)
def test_a_line_gives_what_pytorch_gives(line, tmp_path):
    compare(line, table.value(line, names(tmp_path)), VALUES)


@pytest.mark.parametrize("line", table.ANSWERED)
def test_other_lines_say_what_to_write(line, tmp_path):
    with pytest.raises((AttributeError, ad.AdjointError, TypeError)) as raised:
        table.value(line, names(tmp_path))
    assert table.ANSWERED[line] in str(raised.value)


def test_nearly_all_lines_work():
    total = len(table.LINES) + len(table.ANSWERED)
    assert total >= 132
    assert len(table.LINES) >= 0.95 * total
