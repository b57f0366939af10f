"""Functions of SciPy and of Python's library that are written in Python: filters, spectra, images, colours."""

import colorsys
import math
import statistics
from dataclasses import asdict, astuple, dataclass, replace

import numpy as np
import scipy.fft
from scipy import linalg, ndimage, signal, stats
from scipy.constants import convert_temperature, golden

from tests.strangers.programs import at

T = np.linspace(0.0, 3.0, 7)
P = (0.41, 1.32, 0.23, 0.94, 2.05, 1.56, 0.77)


@at(0.4, 1.3, 0.2)
def zero_phase_filter(x):
    y = np.cos(np.arange(30.0)) * x[0] + x[2]
    b, a = signal.butter(2, 0.3)
    return np.sum(signal.filtfilt(b, a, y) ** 2) * x[1]


@at(0.4, 1.3, 0.2)
def mean_frequency(x):
    t = np.arange(64) / 64
    y = x[0] * np.sin(10 * np.pi * t) + x[1] * np.cos(18 * np.pi * t) + x[2]
    frequency, power = signal.welch(y, fs=64, nperseg=32)
    return np.sum(frequency * power) / np.sum(power)


@at(*P)
def smoothed_signal(x):
    return np.prod(signal.savgol_filter(x, 5, 2)[::3]) + signal.medfilt(x, 3) @ T


@at(*P)
def resampled_signal(x):
    return np.sum(signal.resample(x, 11) ** 3) + np.sum(signal.resample_poly(x, 3, 2) ** 2)


@at(*P)
def transforms_with_hints(x):
    spectrum = scipy.fft.rfft(x, overwrite_x=True, workers=1)
    return np.sum(np.abs(spectrum)) + scipy.fft.irfft(spectrum, 7, workers=-1)[2] ** 2


@at(0.6, 0.9, 1.5)
def filter_response(x):
    _, response = signal.freqz([x[0], x[1]], [1.0, 0.2 * x[2]], worN=8)
    return np.sum(np.abs(response))


@at(0.6, 0.9, 1.5)
def controlled_system(x):
    plant = signal.StateSpace([[0, 1], [-x[0], -x[1]]], [[0], [1.0]], [[1, 0]], [[0]])
    _, y, _ = signal.lsim(plant, np.ones(7), T)
    gain, _ = signal.bode(([x[2]], [1.0, x[1], x[0]]), w=[0.5, 2.0])[1:]
    return y[-1] + np.sum(gain)


@at(0.4, 1.3, 0.2, 0.9, 2.0, 1.5, 0.7, 1.1, 0.1)
def edges_of_an_image(x):
    image = ndimage.gaussian_filter(x.reshape(3, 3), 0.8)
    rows, columns = ndimage.sobel(image, axis=0), ndimage.sobel(image, axis=1, mode="nearest")
    return np.sum(np.hypot(rows, columns)) + ndimage.center_of_mass(image)[0]


@at(0.4, 1.3, 0.2, 0.9, 2.0, 1.5, 0.7, 1.1, 0.1)
def ranks_of_an_image(x):
    image, weights = x.reshape(3, 3), np.arange(9.0).reshape(3, 3)
    middle = ndimage.median_filter(image, 3) * weights
    return np.sum(middle) + np.sum(ndimage.maximum_filter(image, 2) ** 2) - np.sum(ndimage.grey_erosion(image, 2))


@at(*P)
def straight_line(x):
    line = stats.linregress(T, x)
    return line.slope * 2 + line.intercept + line.rvalue + stats.trim_mean(x, 0.2) + stats.iqr(x)


@at(*P)
def distances_of_samples(x):
    return stats.wasserstein_distance(x, T) + stats.energy_distance(x, T) + stats.entropy(x, T + 1)


@at(0.4, 1.3, 0.2)
def quantiles_of_distributions(x):
    normal = stats.norm(x[1], x[0])
    return (
        normal.ppf(0.3)
        + normal.interval(0.9)[0]
        + normal.std()
        + stats.norm.ppf(x[2])
        + stats.gamma.mean(x[1], scale=x[0])
    )


@at(0.4, 1.3, 0.2)
def matrix_equations(x):
    lyapunov = linalg.solve_continuous_lyapunov(np.array([[-x[1], 0.1], [0.0, -x[0]]]), np.eye(2))
    return lyapunov[0, 0] + linalg.solve_sylvester(np.diag(x[:2]), np.eye(2), np.ones((2, 2)))[0, 1]


@at(20.0, 1.3, 0.2)
def units(x):
    return convert_temperature(x[0], "Celsius", "Kelvin") / 300 + golden * x[1] * x[2]


@at(1.0, 0.5, 2.0, 1.7)
def normal_distribution_of_python(x):
    given, found = statistics.NormalDist(x[0], x[1]), statistics.NormalDist.from_samples(list(x))
    quarters = statistics.quantiles(list(x), n=4)
    parts = given.pdf(0.3) + given.cdf(1.2) + given.inv_cdf(0.3) + (given + 1.0).mean + found.zscore(0.1)
    return parts + found.mean * found.stdev + quarters[0] * quarters[2]


@at(0.3, 0.5, 0.9)
def colours(x):
    hue, lightness, saturation = colorsys.rgb_to_hls(*x)
    red, green, blue = colorsys.hls_to_rgb(hue * 0.9, lightness, saturation)
    return red + 2 * green + 3 * blue + sum(colorsys.rgb_to_yiq(*x)) + colorsys.rgb_to_hsv(*x)[1]


@dataclass(frozen=True, order=True)
class Pendulum:
    angle: float
    speed: float

    def later(self, step):
        return replace(self, angle=self.angle + step * self.speed, speed=self.speed - step * math.sin(self.angle))


@at(1.0, 0.5, 0.8)
def states_as_dictionaries(x):
    states = [Pendulum(*x[:2])]
    for _ in range(6):
        states.append(states[-1].later(x[2]))
    return max(states).angle + sum(sum(astuple(state)) for state in states) + asdict(states[0])["angle"] ** 2
