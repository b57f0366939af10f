"""PyTorch's `torch.utils.data`: this module is `adjoint.data`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from adjoint import data

if TYPE_CHECKING:
    from adjoint.data import *  # noqa: F403 - all of its names

sys.modules[__name__] = data
for _name in ("dataloader", "dataset", "sampler"):  # where PyTorch has some of these names
    sys.modules[f"{__name__}.{_name}"] = data
