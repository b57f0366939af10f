"""The array-API namespace of tensors, version 2024.12: what ``t.__array_namespace__()`` gives.

Its functions are NumPy's under the standard's names and signatures, and all their results are tensors:
those that no gradient flows through (``xp.isnan(t)``, ``xp.argmax(t)``) are constants. `special` holds the
special functions that have derivatives; SciPy asks for it.
"""

from __future__ import annotations

import math as _math
from types import SimpleNamespace as _Namespace

import numpy as _np

from adjoint.core.registry import answer as _answer
from adjoint.core.types import Value as _Value
from adjoint.xp import fft as fft
from adjoint.xp import linalg as linalg
from adjoint.xp import special as special
from adjoint.xp.arrays import boxing as _boxing
from adjoint.xp.creation import arange as arange
from adjoint.xp.creation import asarray as asarray
from adjoint.xp.creation import empty as empty
from adjoint.xp.creation import empty_like as empty_like
from adjoint.xp.creation import eye as eye
from adjoint.xp.creation import from_dlpack as from_dlpack
from adjoint.xp.creation import full as full
from adjoint.xp.creation import full_like as full_like
from adjoint.xp.creation import linspace as linspace
from adjoint.xp.creation import meshgrid as meshgrid
from adjoint.xp.creation import ones as ones
from adjoint.xp.creation import ones_like as ones_like
from adjoint.xp.creation import tril as tril
from adjoint.xp.creation import triu as triu
from adjoint.xp.creation import zeros as zeros
from adjoint.xp.creation import zeros_like as zeros_like
from adjoint.xp.datatypes import __array_namespace_info__ as __array_namespace_info__
from adjoint.xp.datatypes import astype as astype
from adjoint.xp.datatypes import bool as bool
from adjoint.xp.datatypes import can_cast as can_cast
from adjoint.xp.datatypes import complex64 as complex64
from adjoint.xp.datatypes import complex128 as complex128
from adjoint.xp.datatypes import finfo as finfo
from adjoint.xp.datatypes import float32 as float32
from adjoint.xp.datatypes import float64 as float64
from adjoint.xp.datatypes import iinfo as iinfo
from adjoint.xp.datatypes import int8 as int8
from adjoint.xp.datatypes import int16 as int16
from adjoint.xp.datatypes import int32 as int32
from adjoint.xp.datatypes import int64 as int64
from adjoint.xp.datatypes import isdtype as isdtype
from adjoint.xp.datatypes import result_type as result_type
from adjoint.xp.datatypes import uint8 as uint8
from adjoint.xp.datatypes import uint16 as uint16
from adjoint.xp.datatypes import uint32 as uint32
from adjoint.xp.datatypes import uint64 as uint64
from adjoint.xp.elementwise import abs as abs
from adjoint.xp.elementwise import acos as acos
from adjoint.xp.elementwise import acosh as acosh
from adjoint.xp.elementwise import add as add
from adjoint.xp.elementwise import asin as asin
from adjoint.xp.elementwise import asinh as asinh
from adjoint.xp.elementwise import atan as atan
from adjoint.xp.elementwise import atan2 as atan2
from adjoint.xp.elementwise import atanh as atanh
from adjoint.xp.elementwise import bitwise_and as bitwise_and
from adjoint.xp.elementwise import bitwise_invert as bitwise_invert
from adjoint.xp.elementwise import bitwise_left_shift as bitwise_left_shift
from adjoint.xp.elementwise import bitwise_or as bitwise_or
from adjoint.xp.elementwise import bitwise_right_shift as bitwise_right_shift
from adjoint.xp.elementwise import bitwise_xor as bitwise_xor
from adjoint.xp.elementwise import ceil as ceil
from adjoint.xp.elementwise import clip as clip
from adjoint.xp.elementwise import conj as conj
from adjoint.xp.elementwise import copysign as copysign
from adjoint.xp.elementwise import cos as cos
from adjoint.xp.elementwise import cosh as cosh
from adjoint.xp.elementwise import divide as divide
from adjoint.xp.elementwise import equal as equal
from adjoint.xp.elementwise import exp as exp
from adjoint.xp.elementwise import expm1 as expm1
from adjoint.xp.elementwise import floor as floor
from adjoint.xp.elementwise import floor_divide as floor_divide
from adjoint.xp.elementwise import greater as greater
from adjoint.xp.elementwise import greater_equal as greater_equal
from adjoint.xp.elementwise import hypot as hypot
from adjoint.xp.elementwise import imag as imag
from adjoint.xp.elementwise import isfinite as isfinite
from adjoint.xp.elementwise import isinf as isinf
from adjoint.xp.elementwise import isnan as isnan
from adjoint.xp.elementwise import less as less
from adjoint.xp.elementwise import less_equal as less_equal
from adjoint.xp.elementwise import log as log
from adjoint.xp.elementwise import log1p as log1p
from adjoint.xp.elementwise import log2 as log2
from adjoint.xp.elementwise import log10 as log10
from adjoint.xp.elementwise import logaddexp as logaddexp
from adjoint.xp.elementwise import logical_and as logical_and
from adjoint.xp.elementwise import logical_not as logical_not
from adjoint.xp.elementwise import logical_or as logical_or
from adjoint.xp.elementwise import logical_xor as logical_xor
from adjoint.xp.elementwise import maximum as maximum
from adjoint.xp.elementwise import minimum as minimum
from adjoint.xp.elementwise import multiply as multiply
from adjoint.xp.elementwise import negative as negative
from adjoint.xp.elementwise import nextafter as nextafter
from adjoint.xp.elementwise import not_equal as not_equal
from adjoint.xp.elementwise import positive as positive
from adjoint.xp.elementwise import pow as pow
from adjoint.xp.elementwise import real as real
from adjoint.xp.elementwise import reciprocal as reciprocal
from adjoint.xp.elementwise import remainder as remainder
from adjoint.xp.elementwise import round as round
from adjoint.xp.elementwise import sign as sign
from adjoint.xp.elementwise import signbit as signbit
from adjoint.xp.elementwise import sin as sin
from adjoint.xp.elementwise import sinh as sinh
from adjoint.xp.elementwise import sqrt as sqrt
from adjoint.xp.elementwise import square as square
from adjoint.xp.elementwise import subtract as subtract
from adjoint.xp.elementwise import tan as tan
from adjoint.xp.elementwise import tanh as tanh
from adjoint.xp.elementwise import trunc as trunc
from adjoint.xp.linalg import matmul as matmul
from adjoint.xp.linalg import matrix_transpose as matrix_transpose
from adjoint.xp.linalg import tensordot as tensordot
from adjoint.xp.linalg import vecdot as vecdot
from adjoint.xp.manipulation import broadcast_arrays as broadcast_arrays
from adjoint.xp.manipulation import broadcast_shapes as broadcast_shapes
from adjoint.xp.manipulation import broadcast_to as broadcast_to
from adjoint.xp.manipulation import concat as concat
from adjoint.xp.manipulation import expand_dims as expand_dims
from adjoint.xp.manipulation import flip as flip
from adjoint.xp.manipulation import moveaxis as moveaxis
from adjoint.xp.manipulation import permute_dims as permute_dims
from adjoint.xp.manipulation import repeat as repeat
from adjoint.xp.manipulation import reshape as reshape
from adjoint.xp.manipulation import roll as roll
from adjoint.xp.manipulation import squeeze as squeeze
from adjoint.xp.manipulation import stack as stack
from adjoint.xp.manipulation import take as take
from adjoint.xp.manipulation import take_along_axis as take_along_axis
from adjoint.xp.manipulation import tile as tile
from adjoint.xp.manipulation import unstack as unstack
from adjoint.xp.searching import argmax as argmax
from adjoint.xp.searching import argmin as argmin
from adjoint.xp.searching import argsort as argsort
from adjoint.xp.searching import count_nonzero as count_nonzero
from adjoint.xp.searching import isin as isin
from adjoint.xp.searching import nonzero as nonzero
from adjoint.xp.searching import searchsorted as searchsorted
from adjoint.xp.searching import sort as sort
from adjoint.xp.searching import unique_all as unique_all
from adjoint.xp.searching import unique_counts as unique_counts
from adjoint.xp.searching import unique_inverse as unique_inverse
from adjoint.xp.searching import unique_values as unique_values
from adjoint.xp.searching import where as where
from adjoint.xp.statistics import all as all
from adjoint.xp.statistics import any as any
from adjoint.xp.statistics import cumulative_prod as cumulative_prod
from adjoint.xp.statistics import cumulative_sum as cumulative_sum
from adjoint.xp.statistics import diff as diff
from adjoint.xp.statistics import max as max
from adjoint.xp.statistics import mean as mean
from adjoint.xp.statistics import min as min
from adjoint.xp.statistics import prod as prod
from adjoint.xp.statistics import std as std
from adjoint.xp.statistics import sum as sum
from adjoint.xp.statistics import var as var

__array_api_version__ = "2024.12"

e, pi, inf, nan = _math.e, _math.pi, _math.inf, _math.nan
newaxis = None


def __getattr__(name: str) -> _Value:
    """NumPy's further functions that tensors understand: libraries ask a namespace for some of them, too."""
    if name == "lib":  # where xarray looks for sliding windows
        windows = _boxing(_np.lib.stride_tricks.sliding_window_view, "sliding_window_view")
        return _Namespace(stride_tricks=_Namespace(sliding_window_view=windows))
    ours = None if name.startswith("_") else _answer(getattr(_np, name, None))
    if ours is None:
        raise AttributeError(f"module 'adjoint.xp' has no attribute {name!r}")
    return _boxing(ours, name)
