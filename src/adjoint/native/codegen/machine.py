"""How wide this processor's vectors are, and how many registers it has: this decides the tiles of matrices."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import llvmlite.binding as llvm


class Vectors(NamedTuple):
    """The bytes of a vector, how many vectors there are registers for, and whether products and sums are one step."""

    bytes: int
    registers: int
    fused: bool


AVX512 = Vectors(64, 32, True)
AVX2 = Vectors(32, 16, True)
SSE2 = Vectors(16, 16, False)
NEON = Vectors(16, 32, True)


@cache
def converts_halves() -> bool:
    """Whether this processor converts numbers of half precision."""
    return bool(llvm.get_host_cpu_features().get("f16c")) or _is_arm()


def _is_arm() -> bool:
    return str(llvm.get_default_triple()).startswith(("aarch64", "arm64"))


@cache
def vectors() -> Vectors:
    """This processor's."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return AVX512
    if features.get("avx2") and features.get("fma"):
        return AVX2
    return NEON if _is_arm() else SSE2
