"""PyTorch's `torch.special`: functions of SciPy's and NumPy's, by PyTorch's names too."""

from __future__ import annotations

import numpy as np

from adjoint.core.late import service
from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.registry import by_any_name
from adjoint.core.types import Value

_SCIPYS = {
    **{f"bessel_{kind}": kind for kind in ("j0", "j1", "y0", "y1")},
    **{f"modified_bessel_{kind}": kind for kind in ("i0", "i1", "k0", "k1")},
    **{f"scaled_modified_bessel_{kind}": f"{kind}e" for kind in ("k0", "k1")},
}
_OURS = frozenset(("softmax", "log_softmax", "logsumexp", "logit"))  # which take ``dim``, or ``eps``


def __getattr__(name: str) -> Value:
    if name in _OURS:
        return by_any_name(name)
    if name[:2] != "__":
        for module in (service("scipy").special, np):
            if (found := getattr(module, _SCIPYS.get(name, name), None)) is not None:
                return found
    raise looked_up("special", name)
