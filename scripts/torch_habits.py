"""PyTorch's values of the lines in `tests/habits/table.py`: into `tests/habits/torch_values.npz`.

And its losses of the programs in `tests/habits/programs.py`: into `tests/habits/torch_losses.json`.

Needs the extra `bench`. ``python scripts/torch_habits.py``
"""

import json
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.habits import programs, table  # noqa: E402 - it stands beside the tests


def main():
    torch.set_default_dtype(torch.float64)  # adjoint's
    warnings.simplefilter("ignore")
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for line in table.LINES:
            names = table.namespace(torch, Path(folder) / "w.pt", lambda x: torch.from_numpy(x.copy()))
            found |= {f"{line}/{i}": leaf for i, leaf in enumerate(table.leaves(table.value(line, names)))}
    np.savez_compressed(ROOT / "tests/habits/torch_values.npz", **found)
    losses = {program.__name__: program(torch) for program in programs.PROGRAMS}
    (ROOT / "tests/habits/torch_losses.json").write_text(json.dumps(losses, indent=1) + "\n")
    print(f"{len(table.LINES)} lines, {len(found)} arrays, by PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
