"""What a kernel costs: which ones compute so little that memory decides, and about how long an element takes."""

from __future__ import annotations

from adjoint.native.codegen.loops.loop_nest import Spec

# Operations of one or two instructions, and constants, which are known by their dtypes.
LIGHT = frozenset(("add", "subtract", "multiply", "square", "negative", "positive", "absolute", "fabs", "sign",
                    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "choose_either", "gate",
                    "maximum", "minimum", "fmax", "fmin", "clip", "floor", "ceil", "trunc", "rint", "astype",
                    "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
                    "bitwise_xor", "invert", "left_shift", "right_shift", "isnan", "isinf", "isfinite", "signbit",
                    "copysign", "b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"))  # fmt: skip
_FEW = 4  # operands and expressions
_MOVED, _LIGHT_TIME, _HEAVY_TIME = 0.1, 0.1, 1.0  # nanoseconds for an element that is read or written, or computed
# What has LLVM take vectors of 32 bytes where memory is all that counts: fewer lie across two of its lines.
HALF = ' "prefer-vector-width"="256" "min-legal-vector-width"="256"'


def _light(spec: Spec) -> list[bool]:
    keys = [expression.key for expression in spec.expressions]
    return [isinstance(key, tuple) and key[0] in LIGHT for key in keys]


def is_light(spec: Spec) -> bool:
    """Whether several vectors are taken at once: a sum would wait for the one before it, others for memory."""
    return is_small(spec) and all(_light(spec))


def is_small(spec: Spec) -> bool:
    """Whether few values are in registers at once."""
    return len(spec.operands) + len(spec.expressions) <= _FEW


def has_bits(spec: Spec) -> bool:
    """Whether truth values are read, computed or written: these are fastest in the widest vectors."""
    keys = [expression.key for expression in spec.expressions]
    return any(o.dtype == "b1" for o in spec.operands) or any(isinstance(k, tuple) and "b1" in k for k in keys)


def time_of(spec: Spec) -> float:
    """About how many nanoseconds an element takes."""
    light = sum(_light(spec))
    return _MOVED * len(spec.operands) + _LIGHT_TIME * light + _HEAVY_TIME * (len(spec.expressions) - light)
