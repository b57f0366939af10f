"""Every operation on Dask's arrays: the gradient is NumPy's, or the call is refused before a chunk is computed."""

import numpy as np
import pytest

import adjoint as ad
from adjoint.core.box import raw
from adjoint.core.objects.trees import flatten
from adjoint.testing import walk
from adjoint.testing.walk_backend import CHECKS, Moved, samples

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
ENTRIES = list(walk())


class FetchedError(BaseException):
    """A chunk was computed: no error that the library may take for another one."""


def never(*_, **__):
    raise FetchedError


def chunked(x):
    """The array in two chunks along each axis."""
    if not isinstance(x, np.ndarray):
        return x
    return da.from_array(x.copy(), chunks=tuple(max(1, (n + 1) // 2) for n in x.shape))


def kept(x):
    return x


def first_sample(entry):
    """The first sample whose arrays vary; None if there is none."""
    return next((s for s in samples(entry) if Moved(entry, s, kept).arrays), None)


#: The operations whose first sample Dask cannot do; another chunking, or another sample, may be possible.
_REFUSED = (
    "airy airye at_strides banded_solve bincount cholesky cholesky_factor cholesky_solved choose cond convolution "
    "convolution_by_spectra convolve convolve_full corrcoef correlate cosine det det_keeping_factors diag diagflat "
    "diagonal discrete_lyapunov eig eigen eigh eigvals eigvalsh ellipj extract fft fft2 fftn fill_diagonal fourier "
    "frechet_of_exponential frechet_of_logarithm fresnel from_half_spectrum full_like gathered one_gru_step gru_steps "
    "half_spectrum hfft histogram histogram2d histogram_bin_edges histogramdd ifft ifft2 ifftn ihfft intersect1d inv "
    "inverse_fourier irfft irfft2 irfftn it2i0k0 it2j0y0 itairy iti0k0 itj0y0 kelvin least_squares linalg_diagonal "
    "linalg_trace one_lstm_step lstm_steps lstsq lu_solved lyapunov mathieu_cem mathieu_modcem1 mathieu_modcem2 "
    "mathieu_modsem1 mathieu_modsem2 mathieu_sem matrix_exponential matrix_logarithm matrix_root median minors "
    "modfresnelm modfresnelp nanmedian nanpercentile nanquantile obl_ang1 obl_ang1_cv obl_rad1 obl_rad1_cv "
    "order_statistics packed_lu partition partition_along pbdv pbvv pbwa percentile piecewise pinv place polydiv "
    "polyfit polymul pro_ang1 pro_ang1_cv pro_rad1 pro_rad1_cv pseudo_inverse put put_into_axis putmask qr quantile "
    "rational_filter reshape rfft rfft2 rfftn riccati rnn_steps roots running_logsumexp running_max running_min "
    "scattered scattered_reduction scattered_sum setdiff1d setxor1d shichi sici sign_and_logdet sine singular_values "
    "slogdet slogdet_keeping_factors solve solve_assuming solve_keeping_factors sort sort_along sort_complex "
    "sparse_product sparse_solution stacked_det stacked_solve statistics_of_rows svd svdvals sylvester "
    "symmetric_eigen symmetric_eigenvalues take_along_axis tall_qr tensorinv tensorsolve thin_svd trace "
    "triangular_solve trim_zeros union1d unique unique_all unique_counts unique_inverse unique_values "
    "unitary_factor_and_svd unwrap unwrapped window_pick window_put "
)
REFUSED = frozenset(_REFUSED.split())
#: Their results have no shape before they are computed, so the walk knows no cotangent of one.
UNKNOWN = ("masked_select",)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if first_sample(e) is not None and e.name not in UNKNOWN], ids=lambda e: e.name
)
def test_on_dask(entry):
    sample = first_sample(entry)
    expected = flatten(CHECKS["vjp"](Moved(entry, sample, kept)))[0]
    with dask.config.set(scheduler=never):
        if entry.name in REFUSED:
            with pytest.raises(ad.AdjointError, match=r"Dask|chunk"):
                CHECKS["vjp"](Moved(entry, sample, chunked))
            return
        found = flatten(CHECKS["vjp"](Moved(entry, sample, chunked)))[0]
    values = dask.compute(*map(raw, found), scheduler="synchronous")
    for x, y in zip(values, expected, strict=True):
        y = raw(y)
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-12)
