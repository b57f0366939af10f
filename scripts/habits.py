"""How many lines that a PyTorch user types from habit work, with PyTorch's values, and what the others answer.

The lines are those of `tests/habits/table.py`. ``python scripts/habits.py``
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import adjoint as ad

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.habits import table  # noqa: E402 - it stands beside the tests


def main():
    warnings.simplefilter("ignore")
    values = np.load(ROOT / "tests/habits/torch_values.npz")
    work, answered, failed = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for line in (*table.LINES, *table.ANSWERED):
            names = table.namespace(ad, Path(folder) / "w.safetensors", lambda x: ad.tensor(x.copy()))
            try:
                found = table.value(line, names)
                table.compare(line, found, values)
                work += 1
            except Exception as error:  # of whatever kind: it is counted
                if line in table.ANSWERED and table.ANSWERED[line] in str(error):
                    answered += 1
                else:
                    failed.append(f"{line}: {type(error).__name__}: {error}")
    total = work + answered + len(failed) + len(table.DIFFERENT)
    print(
        f"of {total} lines {work} work, with PyTorch's values; {answered} say what to write; {len(failed)} do neither"
    )
    print(f"{len(table.DIFFERENT)} give what NumPy gives; docs/howto/from_pytorch.md names them")
    print(f"{len(failed)} do none of these")
    print(*failed, sep="\n")


if __name__ == "__main__":
    main()
