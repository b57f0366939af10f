"""Flow, chemistry, optics, astronomy, biology: formulas in `math`, tables, iterations until they settle, solvers."""

import cmath
import math
from dataclasses import dataclass
from functools import cache, reduce

import numpy as np
from scipy import integrate, optimize

from tests.strangers.programs import at

GRAVITY = 9.80665


@at(0.02, 0.1, 50.0, 1e-4)
def pipe_friction(x):
    flow, diameter, length, roughness = (float(v) for v in x)
    speed = 4 * flow / (math.pi * diameter**2)
    reynolds = speed * diameter / 1e-6
    if reynolds < 2300:
        factor = 64 / reynolds
    else:
        factor = 0.02
        for _ in range(50):
            root = -2 * math.log10(roughness / diameter / 3.7 + 2.51 / (reynolds * math.sqrt(factor)))
            new = root**-2
            if abs(new - factor) < 1e-13:
                break
            factor = new
    return factor * length / diameter * speed**2 / (2 * GRAVITY)


@at(0.1, 0.3, 0.05)
def reaction_chain(x):
    def rates(c):
        a, b, _ = c
        return np.array([-x[0] * a, x[0] * a - x[1] * b**2, x[1] * b**2 - x[2]])

    c = np.array([1.0, 0.0, 0.2])
    h = 0.5
    for _ in range(10):
        k1 = rates(c)
        k2 = rates(c + h / 2 * k1)
        k3 = rates(c + h / 2 * k2)
        k4 = rates(c + h * k3)
        c = c + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return c[1] + 2 * c[2]


@dataclass(frozen=True)
class Gas:
    a: float
    b: float
    r: float = 0.083145

    def pressure(self, volume, temperature):
        return self.r * temperature / (volume - self.b) - self.a / volume**2

    @property
    def critical(self):
        return 8 * self.a / (27 * self.r * self.b)


@at(3.6, 0.043, 320.0)
def van_der_waals(x):
    gas = Gas(a=x[0], b=x[1])
    volume = 1.0
    for _ in range(40):
        slope = (gas.pressure(volume + 1e-5, x[2]) - gas.pressure(volume - 1e-5, x[2])) / 2e-5
        volume = volume - (gas.pressure(volume, x[2]) - 20.0) / slope
    return volume + gas.critical / 1000


@at(300.0, 0.4)
def heat_equation(x):
    temperature = np.full(8, 280.0)
    temperature[0] = x[0]
    for _ in range(15):
        new = temperature.copy()
        for i in range(1, len(new) - 1):
            new[i] = temperature[i] + x[1] * (temperature[i + 1] - 2 * temperature[i] + temperature[i - 1])
        temperature = new
    return temperature[1:].mean() / 100 + temperature[2] - temperature[3]


@at(1.5, 0.3, 0.55)
def thin_film(x):
    n, thickness, wavelength = x
    phase = 2 * math.pi * n * thickness / wavelength
    matrix = np.array([[cmath.cos(phase), 1j * cmath.sin(phase) / n], [1j * n * cmath.sin(phase), cmath.cos(phase)]])
    b, c = matrix @ np.array([1.0, 1.7])
    return abs((b - c) / (b + c)) ** 2


@at(0.3, 1.33)
def fresnel_angles(x):
    def snell(theta, n1, n2):
        s = n1 * math.sin(theta) / n2
        if s > 1:
            raise ValueError("total reflection")
        return math.asin(s)

    theta = x[0]
    parts = []
    for n1, n2 in [(1.0, x[1]), (x[1], 1.5), (1.5, 1.0)]:
        try:
            inner = snell(theta, n1, n2)
        except ValueError:
            parts.append(1.0)
            continue
        rs = (n1 * math.cos(theta) - n2 * math.cos(inner)) / (n1 * math.cos(theta) + n2 * math.cos(inner))
        parts.append(rs**2)
        theta = inner
    return reduce(lambda a, b: a * (1 - b), parts, 1.0) + theta


@at(70.0, 0.3)
def cosmic_distance(x):
    hubble, matter = x

    def inverse_rate(z):
        return 1 / math.sqrt(matter * (1 + z) ** 3 + 1 - matter)

    distance, _ = integrate.quad(inverse_rate, 0.0, 0.5)
    return 299792.458 / hubble * distance / 1000


@at(40.5, 0.4)
def sun_height(x):
    days = x[0] + 6000
    mean = math.radians((357.5291 + 0.98560028 * days) % 360)
    centre = 1.9148 * math.sin(mean) + 0.02 * math.sin(2 * mean)
    longitude = mean + math.radians(centre + 180 + 102.9372)
    declination = math.asin(math.sin(longitude) * math.sin(math.radians(23.44)))
    latitude = math.radians(50 * x[1])
    return math.sin(latitude) * math.sin(declination) + math.cos(latitude) * math.cos(declination)


@cache
def legendre(n):
    return np.polynomial.legendre.leggauss(n)


@at(0.7, 1.4)
def gauss_quadrature(x):
    nodes, weights = legendre(5)
    half = 0.5 * (x[1] - x[0])
    total = 0.0
    for node, weight in zip(nodes, weights, strict=True):
        t = half * node + 0.5 * (x[0] + x[1])
        total += weight * math.exp(-t) * math.sin(3 * t)
    return half * total


@at(0.5, 0.02, 0.4)
def predators_and_prey(x):
    def field(t, state):
        prey, hunters = state
        return [x[0] * prey - x[1] * prey * hunters, 0.01 * prey * hunters - x[2] * hunters]

    solution = integrate.solve_ivp(field, (0.0, 4.0), [30.0, 10.0], rtol=1e-9, atol=1e-9)
    return solution.y[0, -1] + solution.y[1, -1]


@at(0.9, 0.2, 1.3)
def chemical_equilibrium(x):
    def balance(v):
        return [v[0] * v[1] - x[0] * 0.1, v[0] + v[1] - x[2] - x[1]]

    root = optimize.fsolve(balance, np.array([1.4, 0.1]), xtol=1e-13)
    return root[0] - 3 * root[1]


@at(0.3, 0.1, 0.02)
def epidemic(x):
    history = {"s": [0.99], "i": [0.01], "r": [0.0]}
    for _ in range(10):
        s, i, r = (history[k][-1] for k in "sir")
        new = x[0] * s * i
        history["s"].append(s - new + x[2] * r)
        history["i"].append(i + new - x[1] * i)
        history["r"].append(r + x[1] * i - x[2] * r)
    table = np.array([history[k] for k in ("s", "i", "r")])
    return 100 * table[1].max() + table[0, -1]


@at(101325.0, 288.15, 5000.0)
def standard_atmosphere(x):
    layers = [(0.0, -0.0065), (11000.0, 0.0), (20000.0, 0.001)]
    pressure, temperature, height = x[0], x[1], x[2] + 8000.0
    for k, (base, lapse) in enumerate(layers):
        top = layers[k + 1][0] if k + 1 < len(layers) else math.inf
        step = min(height, top) - base
        if step <= 0:
            break
        if lapse == 0.0:
            pressure *= math.exp(-GRAVITY * step / (287.053 * temperature))
        else:
            warmer = temperature + lapse * step
            pressure *= (warmer / temperature) ** (-GRAVITY / (287.053 * lapse))
            temperature = warmer
    return pressure / (287.053 * temperature)


class Vessel:
    def __init__(self, volume, celsius):
        self.volume, self._kelvin, self.flows = volume, celsius + 273.15, np.zeros(3)

    @property
    def celsius(self):
        return self._kelvin - 273.15

    @celsius.setter
    def celsius(self, value):
        if not math.isfinite(value):
            raise ValueError(value)
        self._kelvin = float(value) + 273.15

    def mixed_with(self, other):
        total = self.volume + other.volume
        self.celsius += (other.celsius - self.celsius) * other.volume / total
        self.volume = total
        return self


@at(2.0, 60.0, 0.1)
def vessels_mixed(x):
    vessel, losses = Vessel(x[0], x[1]), {"wall": 0.0}
    for hour, cold in enumerate((5.0, 10.0, 15.0)):
        vessel.mixed_with(Vessel(volume=0.5, celsius=cold))
        vessel.celsius *= 1 - x[2]
        vessel.flows[hour:] += x[2] * vessel.celsius
        losses["wall"] += math.log(vessel.celsius) * x[2]
    return vessel.celsius + np.sum(vessel.flows**2) / 100 + losses["wall"]
