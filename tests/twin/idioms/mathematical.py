"""Python's math and cmath, and its numbers."""

import cmath
import decimal
import fractions
import math
import statistics
from math import cos, exp, pi, sin, sqrt

import numpy as np


def math_trigonometry(x=(0.3, 1.2)):
    return math.sin(x[0]) * math.cos(x[1]) + math.tan(x[0])


def math_inverse_trigonometry(x=(0.3, 0.6)):
    return math.asin(x[0]) + math.acos(x[1]) * math.atan(x[0])


def math_hyperbolic(x=(0.3, 1.2)):
    return math.sinh(x[0]) + math.cosh(x[1]) * math.tanh(x[0])


def math_inverse_hyperbolic(x=(0.3, 1.2)):
    return math.asinh(x[0]) + math.acosh(x[1]) * math.atanh(x[0])


def math_exponentials(x=(0.3, 1.2)):
    return math.exp(x[0]) + math.expm1(x[1]) + math.exp2(x[0])


def math_logarithms(x=(0.3, 1.2)):
    return math.log(x[0]) + math.log2(x[1]) + math.log10(x[0]) + math.log1p(x[1])


def math_log_of_base(x=(0.3, 1.2)):
    return math.log(x[0], 3) + math.log(2.0, x[1])


def math_roots(x=(0.3, 1.2)):
    return math.sqrt(x[0]) * math.cbrt(x[1])


def math_atan2(x=(0.3, -1.2)):
    return math.atan2(x[1], x[0]) * x[0]


def math_pow(x=(0.3, 1.2)):
    return math.pow(x[0], x[1]) + math.pow(x[1], 3)


def math_hypot(x=(0.3, 1.2)):
    return math.hypot(x[0], x[1]) + math.hypot(x[0], 2.0, x[1])


def math_dist(x=(0.3, 1.2)):
    return math.dist([x[0], 1.0], [0.0, x[1]])


def math_dist_of_arrays(x=(0.3, 1.2)):
    return math.dist(x, np.array([1.0, 2.0]))


def math_fsum(x=(0.3, 1.2)):
    return math.fsum([x[0] ** 2, x[1], 0.1])


def math_fsum_of_generator(x=(0.3, 1.2)):
    return math.fsum(v**3 for v in x)


def math_prod(x=(0.3, 1.2)):
    return math.prod([x[0], x[1], 2.0]) + math.prod(x, start=x[0])


def math_degrees(x=(0.3, 1.2)):
    return math.degrees(x[0]) / math.radians(x[1] * 100)


def math_fmod(x=(7.3, 1.2)):
    return math.fmod(x[0], x[1]) + math.remainder(x[0], 2.0)


def math_floor(x=(2.3, 1.2)):
    return x[0] - math.floor(x[0]) + math.ceil(x[1]) * x[1] + math.trunc(x[0])


def math_floor_as_index(x=(1.3, 2.0, 5.0)):
    i = math.floor(x[0])
    f = x[0] - i
    return x[i] * (1 - f) + x[i + 1] * f


def math_copysign(x=(0.3, -1.2)):
    return math.copysign(x[0], x[1]) * 2 + math.fabs(x[1])


def math_ldexp(x=(0.3, 1.2)):
    return math.ldexp(x[0], 3) * x[1]


def math_frexp(x=(0.3, 5.2)):
    m, e = math.frexp(x[1])
    return m * x[0] + e


def math_modf(x=(0.3, 5.2)):
    part, whole = math.modf(x[1])
    return part**2 + whole * x[0]


def math_erf(x=(0.3, 1.2)):
    return math.erf(x[0]) + math.erfc(x[1])


def math_gamma(x=(0.3, 2.2)):
    return math.gamma(x[1]) + math.lgamma(x[0])


def math_isclose(x=(0.3, 1.2)):
    return x[0] ** 2 if math.isclose(x[0], 0.3, abs_tol=0.2) else x[1]


def math_isnan(x=(0.3, 1.2)):
    return x[1] if math.isnan(x[0]) or math.isinf(x[0]) else x[0] * x[1]


def math_by_name(x=(0.3, 1.2)):
    return sin(x[0]) * exp(-x[1]) + cos(pi * x[0]) / sqrt(x[1])


def math_of_expression(x=(0.3, 1.2)):
    return math.exp(-0.5 * ((x[0] - x[1]) / 0.7) ** 2) / math.sqrt(2 * math.pi)


def math_in_comprehension(x=(0.3, 1.2)):
    return sum(math.sin(v) / (i + 1) for i, v in enumerate(x))


def math_domain_error(x=(0.3, -1.2)):
    try:
        return math.sqrt(x[1])
    except ValueError:
        return x[0] ** 2


def math_overflow(x=(0.3, 1000.0)):
    try:
        return math.exp(x[1])
    except OverflowError:
        return x[0] * x[1]


def cmath_functions(x=(0.3, 1.2)):
    z = cmath.exp(complex(x[0], x[1])) + cmath.sqrt(x[0] + 2j * x[1])
    return z.real * z.imag


def cmath_logarithm(x=(0.3, 1.2)):
    z = cmath.log(complex(x[0], x[1]))
    return z.real + 2 * z.imag


def cmath_of_negative(x=(0.3, 1.2)):
    return cmath.sqrt(-x[1]).imag * x[0]


def cmath_polar(x=(0.3, 1.2)):
    r, phi = cmath.polar(complex(x[0], x[1]))
    return r * phi


def cmath_rect(x=(0.3, 1.2)):
    z = cmath.rect(x[0], x[1])
    return z.real**2 + z.imag


def cmath_phase(x=(0.3, 1.2)):
    return cmath.phase(x[0] + 1j * x[1])


def cmath_sine(x=(0.3, 1.2)):
    return abs(cmath.sin(complex(x[0], x[1])))


def float_of_item(x=(0.3, 1.2)):
    return float(x[0]) * float(x[1]) ** 2


def float_of_sum(x=(0.3, 1.2)):
    return float(np.sum(x**2))


def float_in_list(x=(0.3, 1.2)):
    return np.array([float(v) ** 2 for v in x])


def float_mapped(x=(0.3, 1.2)):
    a, b = map(float, x)
    return a * b**2


def int_as_index(x=(1.7, 3.0, 4.0)):
    return x[int(x[0])] ** 2 * x[0]


def int_as_count(x=(3.2, 0.5)):
    total = 0.0
    for k in range(int(x[0])):
        total = total + x[1] ** k
    return total * x[0]


def complex_of_two(x=(0.3, 1.2)):
    z = complex(x[0], x[1]) ** 2
    return z.real - z.imag


def complex_of_one(x=(0.3, 1.2)):
    return (complex(x[0]) * (1 + 2j)).imag * x[1]


def bool_of_value(x=(0.3, 1.2)):
    return x[0] * x[1] if bool(x[0]) else x[1]


def abs_of_value(x=(0.3, -1.2)):
    return abs(x[1]) * abs(x[0]) + abs(x).sum()


def round_to_digits(x=(0.3, 1.2)):
    return round(x[0], 6) * 0 + x[1] * round(x[1])


def periodic_image(x=(0.3, 4.2)):
    d = x[1] - x[0]
    return (d - 3.0 * round(d / 3.0)) ** 2


def divmod_of_values(x=(7.3, 2.0)):
    q, r = divmod(x[0], x[1])
    return q * r * x[1]


def pow_of_values(x=(0.3, 1.2)):
    return pow(x[0], x[1]) + pow(x[1], 2)


def sum_of_values(x=(0.3, 1.2)):
    return sum(x) * sum(v**2 for v in x)


def sum_with_start(x=(0.3, 1.2)):
    return sum([x[0] ** 2, x[1]], 10.0)


def min_and_max(x=(0.3, 1.2)):
    return min(x[0], x[1]) ** 2 + max(x[0], 0.5, x[1]) ** 3


def min_of_array(x=(0.3, 1.2, -0.5)):
    return min(x) * max(x)


def max_with_key(x=(0.3, -1.2, 0.5)):
    return max(x, key=lambda v: abs(v)) ** 2


def sorted_values(x=(0.3, -1.2, 0.5)):
    a, b, c = sorted(x)
    return a + 2 * b + 3 * c**2


def sorted_by_key(x=(0.3, -1.2, 0.5)):
    s = sorted(x, key=lambda v: -(v**2))
    return s[0] * 3 + s[1] ** 2


def clamp(x=(0.3, 1.2)):
    return max(0.0, min(1.0, x[0])) * x[1]


def chained_comparison(x=(0.3, 1.2)):
    return x[0] ** 2 if 0.0 < x[0] < 1.0 else x[1]


def statistics_mean(x=(0.3, 1.2, 2.0)):
    return statistics.mean(x) ** 2 + statistics.fmean([x[0] ** 2, x[1]])


def statistics_stdev(x=(0.3, 1.2, 2.0)):
    return statistics.stdev(x) + statistics.pvariance(list(x))


def statistics_median(x=(0.3, 1.2, 2.0)):
    return statistics.median([x[0], x[2], x[1] ** 2])


def fraction_constant(x=(0.3, 1.2)):
    third = fractions.Fraction(1, 3)
    return x[0] * float(third) + x[1] ** float(2 * third)


def decimal_constant(x=(0.3, 1.2)):
    rate = decimal.Decimal("0.05")
    return x[0] * (1 + float(rate)) ** x[1]
