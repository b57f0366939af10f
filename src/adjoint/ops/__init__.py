"""The operations: one file a family, one block an operation.

Importing this fills the registry; rarer families load when first asked for.
"""

from adjoint.core.registry import LATER, SPECIAL
from adjoint.core.words import FUNCTIONS, MEANT
from adjoint.ops import (  # noqa: F401 - imported for what they register
    activation,
    arithmetic,
    comparison,
    complex,
    cumulative,
    exponential,
    in_place,
    indexing,
    linear,
    naming,
    nan_reductions,
    norms,
    order,
    reductions,
    restrided,
    selection,
    shape,
    trigonometric,
    writing,
)

# What loads when it is first asked for: the names of operations, and those that NumPy has for what they answer.
_RARER = {
    "calculus": "diff ediff1d gradient interp trapezoid unwrap",
    "convolution": (
        "convolve convolve_full correlate overlap_add polyadd polyder polyint polymul polysub polyval "
        "sliding_window_view vander windows"
    ),
    "conv": "conv conv_input conv_weight fold unfold",
    "creation": (
        "apply_along_axis apply_over_axes array2string array_repr array_str common_type delete diag_indices_from "
        "full_like geomspace insert isin ix_ linspace logspace meshgrid min_scalar_type piecewise ravel_multi_index "
        "save savetxt savez savez_compressed tril_indices_from triu_indices_from unravel_index"
    ),
    "decompositions": (
        "cholesky cholesky_factor eig eigen eigh eigvals eigvalsh qr singular_values svd svdvals "
        "symmetric_eigen symmetric_eigenvalues tall_qr thin_svd"
    ),
    "einsum": "diagonals einsum",
    "factors": "cholesky_solved lu_solved packed_lu triangular_solve",
    "elements": (
        "gathered index_add index_select masked_fill masked_select scattered scattered_reduction scattered_sum"
    ),
    "extremes": "sample_std sample_var",
    "fft": (
        "fft fft2 fftn fftshift fourier from_half_spectrum half_spectrum hfft ifft ifft2 ifftn ifftshift "
        "ihfft inverse_fourier irfft irfft2 irfftn rfft rfft2 rfftn weighted_half"
    ),
    "histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "joining": (
        "append array_split block column_stack concatenate dsplit dstack hsplit hstack join pile split stack unstack "
        "vsplit vstack"
    ),
    "least_squares": "least_squares lstsq pinv pseudo_inverse",
    "linalg": (
        "cond cross det det_keeping_factors diagonal inv linalg_cross linalg_diagonal linalg_matmul "
        "linalg_matrix_transpose linalg_outer linalg_tensordot linalg_trace linalg_vecdot matmul matrix_power "
        "matrix_rank matrix_transpose outer ranks sign_and_logdet slogdet slogdet_keeping_factors solve "
        "solve_keeping_factors stacked_det stacked_solve tensordot tensorinv tensorsolve trace vecdot"
    ),
    "neural": "affine huber_cost logit_cross_entropy negative_log_likelihood standardize",
    "padding": "pad pad_zeros",
    "pieces": (
        "addcdiv addcmul addmm cdist chunk dist flatten_axes lerp narrow rsqrt split_by t transposed unbind unflatten"
    ),
    "polynomials": "poly polydiv polyfit roots trim_zeros",
    "pooling": "window_pick window_put window_spread window_sum",
    "recurrence": "lstm_steps",
    "sets": "intersect1d setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values",
    "statistics": "average corrcoef cov",
}
LATER |= {name: f"adjoint.ops.{family}" for family, names in _RARER.items() for name in names.split()}
FUNCTIONS |= {name: f"adjoint.ops.extremes:{name}" for name in ("cummax", "cummin", "topk")}
FUNCTIONS["numel"] = "adjoint.ops.pieces:numel"
MEANT |= {name: f"adjoint.ops.extremes:{name}_along" for name in ("argsort", "max", "median", "min", "sort")}
MEANT |= {
    "norm": "adjoint.ops.norms:norm_of_elements",
    "flatten": "flatten_axes",
    "split": "split_by",
    "std": "sample_std",
    "var": "sample_var",
}
LATER[SPECIAL] = "adjoint.ops.scipy_special"
