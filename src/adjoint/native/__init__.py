"""Programs as native code: loops over arrays, products of matrices, and NumPy for the rest. See `build`."""

from adjoint.native.plan.classify import not_native as not_native
from adjoint.native.program import KernelRecord as KernelRecord
from adjoint.native.program import Program as Program
from adjoint.native.program import build as build
