"""Loops in C that a program's value is held against: by this machine's own compiler, called through `ctypes`."""

from __future__ import annotations

import atexit
import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.harness import Call


def compiler() -> str | None:
    """The C compiler; None if there is none, so that its column is left out."""
    return shutil.which("cc")


def loop(text: str, *arrays: np.ndarray, out: np.ndarray) -> Call:
    """A call of ``void run(const double *, …, double *out)`` on these arrays, which gives `out`."""
    run = _library(text).run
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, out)]

    def call() -> list[np.ndarray]:
        run(*pointers)
        return [out]

    call.held = arrays  # type: ignore[attr-defined]  # the pointers do not hold them
    return call


@cache
def _library(text: str) -> ctypes.CDLL:
    found = compiler()
    assert found is not None
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    (folder / "loop.c").write_text(text)
    command = [found, "-O2", "-shared", "-fPIC", "loop.c", "-o", "loop.so", "-lm"]
    subprocess.run(command, check=True, cwd=folder)
    return ctypes.CDLL(str(folder / "loop.so"))


NEAREST = """
void run(const double *x, const double *c, double *out) {
    double total = 0;
    for (int i = 0; i < POINTS; i++) {
        double least = 1e300;
        for (int j = 0; j < CENTRES; j++) {
            double d = 0;
            for (int k = 0; k < 3; k++) d += (x[3*i+k] - c[3*j+k]) * (x[3*i+k] - c[3*j+k]);
            least = d < least ? d : least;
        }
        total += least;
    }
    *out = total;
}
"""

MIXTURE = """
#include <math.h>
void run(const double *x, const double *a, const double *m, const double *q, const double *l, double *out) {
    double total = 0, part[GAUSSIANS];
    for (int i = 0; i < POINTS; i++) {
        double top = -1e300, sum = 0;
        for (int j = 0; j < GAUSSIANS; j++) {
            double s = 0, p = a[j];
            for (int r = 0; r < D; r++) {
                double y = exp(q[j*D+r]) * (x[i*D+r] - m[j*D+r]);
                p += q[j*D+r];
                for (int k = 0; k < r; k++) y += l[(j*D+r)*D+k] * (x[i*D+k] - m[j*D+k]);
                s += y * y;
            }
            part[j] = p - 0.5 * s;
            top = part[j] > top ? part[j] : top;
        }
        for (int j = 0; j < GAUSSIANS; j++) sum += exp(part[j] - top);
        total += log(sum) + top;
    }
    *out = total;
}
"""

BLOCKS = """
#include <math.h>
void run(const double *p, const double *seen, double *out) {
    for (int i = 0; i < BLOCKS; i++) {
        const double *a = p + 12 * i;
        double w = a[0]*a[0] + a[1]*a[1] + a[2]*a[2] + 1e-12, t = sqrt(w), s = sin(t) / t, c = (1 - cos(t)) / w;
        double x = a[9] - a[3], y = a[10] - a[4], z = a[11] - a[5];
        double u = a[1]*z - a[2]*y, v = a[2]*x - a[0]*z, n = a[0]*y - a[1]*x;
        double X = x + s*u + c*(a[1]*n - a[2]*v), Y = y + s*v + c*(a[2]*u - a[0]*n), Z = z + s*n + c*(a[0]*v - a[1]*u);
        double h = X / Z, g = Y / Z, r = h*h + g*g, f = a[6] * (1 + a[7]*r + a[8]*r*r);
        out[2*i] = f * h - seen[2*i];
        out[2*i+1] = f * g - seen[2*i+1];
    }
}
"""

CHAIN = """
#include <math.h>
void run(const double *angle, const double *axis, const double *offset, const double *x, const double *w, double *out) {
    double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, t[3] = {0, 0, 0};
    for (int i = 0; i < 3 * POINTS; i++) out[i] = 0;
    for (int b = 0; b < BONES; b++) {
        double s = sin(angle[b]), c = cos(angle[b]), J[9], M[9];
        const double *n = axis + 3 * b;
        double K[9] = {0, -n[2], n[1], n[2], 0, -n[0], -n[1], n[0], 0};
        for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {
            double k = 0;
            for (int l = 0; l < 3; l++) k += K[3*i+l] * K[3*l+j];
            J[3*i+j] = (i == j) + s * K[3*i+j] + (1 - c) * k;
        }
        for (int i = 0; i < 3; i++) for (int l = 0; l < 3; l++) t[i] += R[3*i+l] * offset[3*b+l];
        for (int i = 0; i < 3; i++) for (int j = 0; j < 3; j++) {
            M[3*i+j] = 0;
            for (int l = 0; l < 3; l++) M[3*i+j] += R[3*i+l] * J[3*l+j];
        }
        for (int i = 0; i < 9; i++) R[i] = M[i];
        for (int i = 0; i < POINTS; i++) for (int r = 0; r < 3; r++)
            out[3*i+r] += w[b*POINTS+i] * (R[3*r]*x[3*i] + R[3*r+1]*x[3*i+1] + R[3*r+2]*x[3*i+2] + t[r]);
    }
}
"""
