"""The core: what an operation is, the one door every call goes through, and the errors.

- Operations: `op`, `registry`, `constructors`, `constants`, `memory` (where results lie).
- Calls: `protocol` (NumPy's), `axes` (of products), `box` (the door), `often` (native code for plain arrays).
- Arrays: `backend`, `device`, `guests` (other libraries), `rows`. Values: `record`, `types`.
- Other processes: `exchanges`, in a call that begins again.
- The package: `codegen` (generated Python), `errors`, `late`, `public` (names for users), `version`.
- Folders: rules of derivatives; objects of other people; messages; leaks; threads.
"""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """A module of the core, which loads when it is first asked for: ``adjoint.core.backend``."""
    try:
        return import_module(f"adjoint.core.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'adjoint.core' has no attribute {name!r}", name=name) from None
