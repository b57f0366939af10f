"""A plugin of pytest (``-p every_name``): a class whose methods have all names that ours and NumPy's have.

Which functions need a twin depends on the names that the user's classes define. With these, nearly all do.
"""

import sys
import types

import numpy as np

import adjoint as ad

NAMES = {*dir(ad), *dir(ad.Tensor), *dir(np.ndarray), *dir(dict), *dir(list), "__call__", "__enter__", "__exit__"}
NAMES -= {*dir(object), "__getattribute__", "__getattr__", "__class_getitem__", "__del__", "__slots__", "__module__"}


def pytest_collection_finish():
    """Define the class, in a module of the user's."""
    module = types.ModuleType("every_name_here")
    methods = "".join(f"    def {name}(self, *args, **kwargs): return self\n" for name in sorted(NAMES))
    exec(compile(f"class Every:\n{methods}", "every_name_here.py", "exec"), vars(module))
    module.__file__ = __file__  # it is the user's
    sys.modules[module.__name__] = module
