"""Work out the polynomials of `adjoint.native.lower.maths`, and write them to src/adjoint/native/lower/coefficients.py.

    python scripts/native_coefficients.py

Each is the polynomial that meets a function at the Chebyshev points of an interval, worked out with 60 digits: its
largest error is within a small factor of the least possible. The degree is the lowest one whose error, relative to
the function's value that it is a part of, is below the bound beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mpmath as mp
import numpy as np

mp.mp.dps = 60
FILE = Path(__file__).parents[1] / "src/adjoint/native/lower/coefficients.py"
Function = Callable[[mp.mpf], mp.mpf]


def through(f: Function, low: mp.mpf, high: mp.mpf, degree: int) -> list[mp.mpf]:
    """Coefficients, lowest first, of the polynomial that meets `f` at degree + 1 Chebyshev points."""
    n = degree + 1
    points = [(low + high) / 2 + (high - low) / 2 * mp.cos(mp.pi * (2 * k + 1) / (2 * n)) for k in range(n)]
    rows = mp.matrix(n, n)
    values = mp.matrix(n, 1)
    for i, x in enumerate(points):
        values[i] = f(x)
        for j in range(n):
            rows[i, j] = x**j
    return list(mp.lu_solve(rows, values))


def error(f: Function, scale: Function, low: mp.mpf, high: mp.mpf, coefficients: list[mp.mpf]) -> mp.mpf:
    """The largest difference between `f` and the polynomial, times `scale`."""
    xs = [low + (high - low) * mp.mpf(k) / 400 for k in range(1, 400)]
    return max(abs((mp.polyval(coefficients[::-1], x) - f(x)) * scale(x)) for x in xs)


def series(f: Function, order: int, skip: int, step: int = 1) -> Function:
    """``f`` less its first terms, by powers of the variable: from the Taylor series, which stays exact near 0."""
    terms = mp.taylor(f, 0, order)[skip::step]

    def value(z: mp.mpf) -> mp.mpf:
        return mp.polyval(terms[::-1], z)

    return value


def erfcx(x: mp.mpf) -> mp.mpf:
    return mp.exp(x * x) * mp.erfc(x)


def tail(t: mp.mpf) -> mp.mpf:
    """erfcx at the x for which t = (x - 2) / (x + 2), times (1 + 2 x), which is smooth up to infinity."""
    x = 2 * (1 + t) / (1 - t)
    return erfcx(x) * (1 + 2 * x)


def one(_: mp.mpf) -> mp.mpf:
    return mp.mpf(1)


# name: (function of the polynomial's variable, what its error counts for, interval)
JOBS = {
    "EXP": (series(mp.exp, 60, 2), lambda r: r * r, -mp.log(2) / 2 * 1.01, mp.log(2) / 2 * 1.01),
    "LOG": (series(lambda s: mp.log((1 + s) / (1 - s)), 121, 3, 2), lambda z: z, mp.mpf(0), mp.mpf("0.0401")),
    "LOG_WHOLE": (
        lambda f: (mp.log1p(f) - f) / (f * f),
        lambda f: abs(f * f / mp.log1p(f)) / 2,  # the rest is rounded more often than it weighs
        mp.mpf("-0.25000001"),
        mp.mpf("0.50000001"),
    ),
    "LOG_TAIL": (
        series(lambda s: mp.log((1 + s) / (1 - s)) / 2, 121, 7, 2),
        lambda z: z**3 * 256,
        mp.mpf(0),
        mp.mpf("0.0401"),
    ),
    "SIN": (series(mp.sin, 61, 3, 2), lambda z: z, mp.mpf(0), (mp.pi / 4 * 1.01) ** 2),
    "COS": (series(mp.cos, 60, 4, 2), lambda z: z * z, mp.mpf(0), (mp.pi / 4 * 1.01) ** 2),
    "TANH": (series(mp.tanh, 301, 3, 2), lambda z: z, mp.mpf(0), mp.mpf("0.4")),
    "SINH": (series(mp.sinh, 61, 3, 2), lambda z: z, mp.mpf(0), mp.mpf(1)),
    "ATAN": (series(mp.atan, 201, 3, 2), lambda z: z, mp.mpf(0), mp.tan(mp.pi / 8) ** 2 * 1.01),
    "ATAN_WHOLE": (lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda z: z, mp.mpf("1e-12"), mp.mpf(1)),
    "TAN": (series(mp.tan, 301, 3, 2), lambda z: z, mp.mpf(0), (mp.pi / 4 * 1.01) ** 2),
    "ASIN": (series(mp.asin, 301, 3, 2), lambda z: z, mp.mpf(0), mp.mpf("0.2501")),
    "ERF": (lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, one, mp.mpf("1e-12"), mp.mpf("0.75")),
    "ERFC": (tail, lambda t: 1 / tail(t), mp.mpf("-0.42"), mp.mpf("0.875")),
}
# "short" is float64 for results in float32.
BOUNDS = {"f4": mp.mpf(2) ** -27, "f8": mp.mpf(2) ** -57, "short": mp.mpf(2) ** -36}
ALSO_SHORT = ("EXP", "LOG", "ERF", "ERFC")
SINGLE = ("ATAN_WHOLE", "LOG_WHOLE", "TAN")  # for float32 alone
DOUBLE = ("LOG", "LOG_TAIL", "ATAN", "ERF", "ERFC")  # float32 is computed in float64, or otherwise


def parts(x: mp.mpf, bits: int, dtype: type) -> list[float]:
    """`x` as a sum of three numbers, the first of so many bits that small multiples of it are exact."""
    first = mp.mpf(int(mp.floor(x * mp.mpf(2) ** bits))) / mp.mpf(2) ** bits
    second = mp.mpf(float(dtype(float(x - first))))
    return [float(first), float(second), float(dtype(float(x - first - second)))]


def whole_parts(x: mp.mpf, dtype: type) -> list[float]:
    """`x` as a sum of three numbers, each as precise as it can be."""
    found: list[float] = []
    for _ in range(3):
        found.append(float(dtype(float(x - sum(map(mp.mpf, found))))))
    return found


def main() -> None:
    lines = [
        '"""Polynomials and constants of `adjoint.native.lower.maths`, written by scripts/native_coefficients.py."""',
        "",
    ]
    lines += ["from __future__ import annotations", ""]
    for name, (f, scale, low, high) in JOBS.items():
        lines.append(f"{name}: dict[str, list[float]] = {{")
        for dtype, bound in BOUNDS.items():
            left_out = {"f4": name in DOUBLE, "f8": name in SINGLE, "short": name not in ALSO_SHORT}
            if left_out[dtype]:
                continue
            for degree in range(1, 40):
                found = through(f, low, high, degree)
                size = error(f, scale, low, high, found)
                if size < bound:
                    break
            if name == "ERFC" and dtype == "f8":
                rest = float(found[0] - mp.mpf(float(found[0])))
            print(f"{name:8} {dtype} degree {degree:2}, error 2^{float(mp.log(size, 2)):.1f}")
            kind = np.float32 if dtype == "f4" else np.float64
            lines.append(f'    "{dtype}": [')
            lines += [f"        {float(kind(float(c)))!r}," for c in found]
            lines.append("    ],")
        lines.append("}")
        if name == "ERFC":  # what rounding the first coefficient loses
            lines.append(f"ERFC_REST = {rest!r}")
    for name, value in {"LN2": mp.log(2), "LOG10_2": mp.log(2) / mp.log(10)}.items():
        short = {"f4": parts(value, 15, np.float32)[:2], "f8": parts(value, 40, np.float64)[:2]}
        lines.append(f"{name}: dict[str, list[float]] = {short!r}")
    constants = {
        "HALF_PI": mp.pi / 2, "LOG2_E": 1 / mp.log(2), "LOG10_E": 1 / mp.log(10),
        "THIRD": mp.mpf(1) / 3, "WHOLE_LN2": mp.log(2), "HALF_ROOT": mp.sqrt(mp.mpf(1) / 2),
    }  # fmt: skip
    for name, value in constants.items():
        whole = {"f4": whole_parts(value, np.float32), "f8": whole_parts(value, np.float64)}
        lines.append(f"{name}: dict[str, list[float]] = {whole!r}")
    FILE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
