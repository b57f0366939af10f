"""`scipy.signal` for tensors: convolution, recursive filters, trends, analytic signals."""

from adjoint.scipy.signal.convolution import convolution as convolution
from adjoint.scipy.signal.convolution import convolution_by_spectra as convolution_by_spectra
from adjoint.scipy.signal.convolution import convolve as convolve
from adjoint.scipy.signal.convolution import correlate as correlate
from adjoint.scipy.signal.convolution import fftconvolve as fftconvolve
from adjoint.scipy.signal.filters import lfilter as lfilter
from adjoint.scipy.signal.filters import rational_filter as rational_filter
from adjoint.scipy.signal.filters import sosfilt as sosfilt
from adjoint.scipy.signal.peaks import find_peaks as find_peaks
from adjoint.scipy.signal.states import lfilter_zi as lfilter_zi
from adjoint.scipy.signal.states import lfiltic as lfiltic
from adjoint.scipy.signal.trends import detrend as detrend
from adjoint.scipy.signal.trends import hilbert as hilbert
