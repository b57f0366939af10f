"""The operations: one folder a subject, one file a family, one block an operation.

Importing this fills the registry; rarer families load when first asked for.
"""

from adjoint.core.messages.words import FUNCTIONS, MEANT
from adjoint.core.registry import LATER, SPECIAL
from adjoint.ops.elementwise import arithmetic, comparison, exponential, trigonometric  # noqa: F401 - imported for what they register
from adjoint.ops.indexing import reading, selection, writing  # noqa: F401 - as above
from adjoint.ops.linalg import products  # noqa: F401 - as above
from adjoint.ops.reductions import moments, sums  # noqa: F401 - as above
from adjoint.ops.shape import copying, reshaping  # noqa: F401 - as above

# What loads when it is first asked for: the names of operations, and those that NumPy has for what they answer.
_RARER = {
    "devices": "moved",
    "creation": (
        "apply_along_axis apply_over_axes array2string array_repr array_str common_type delete diag_indices_from "
        "full_like geomspace insert isin ix_ linspace logspace meshgrid min_scalar_type piecewise ravel_multi_index "
        "save savetxt savez savez_compressed tril_indices_from triu_indices_from unravel_index"
    ),
    "elementwise.complex": (
        "angle around conj conjugate divmod fix imag join_parts modf nan_to_num real real_if_close round rounded"
    ),
    "elementwise.naming": "name",
    "indexing.elements": (
        "gathered index_add index_select masked_fill masked_select scattered scattered_reduction scattered_sum"
    ),
    "indexing.in_place": "copyto fill_diagonal place put put_along_axis put_into_axis putmask ufunc.at",
    "linalg.array_api": (
        "cross diagonal linalg_cross linalg_diagonal linalg_matmul linalg_matrix_transpose linalg_outer "
        "linalg_tensordot linalg_trace linalg_vecdot matmul matrix_transpose outer tensordot trace vecdot"
    ),
    "linalg.factors.cholesky": "cholesky cholesky_factor cholesky_solved",
    "linalg.conditioning": "cond matrix_rank ranks",
    "linalg.determinants": "det det_keeping_factors sign_and_logdet slogdet slogdet_keeping_factors stacked_det",
    "linalg.factors.eigen": "eig eigen eigh eigvals eigvalsh symmetric_eigen symmetric_eigenvalues",
    "linalg.einsum": "diagonals einsum",
    "linalg.factors.gaps": "unsteady",
    "linalg.equations.least_squares": "least_squares lstsq pinv pseudo_inverse",
    "linalg.factors.lu": "lu_solved packed_lu",
    "linalg.minors": "minors",
    "linalg.factors.qr": "qr tall_qr",
    "linalg.equations.solving": "inv matrix_power solve solve_keeping_factors stacked_solve tensorinv tensorsolve",
    "linalg.factors.svd": "singular_values svd svdvals thin_svd",
    "linalg.equations.triangular": "triangular_solve",
    "neural.activation": (
        "between elu exponential_unit gate gelu gelu_exact gelu_tanh hardtanh leaky_relu log_softmax prelu relu relu6 "
        "sigmoid silu softmax softplus softsign"
    ),
    "neural.attention": "attend",
    "neural.cells": "one_gru_step one_lstm_step",
    "neural.conv": "biased_conv conv conv_input conv_weight fold unfold",
    "neural.fused": (
        "affine huber_cost logit_cross_entropy negative_log_likelihood probability_cross_entropy standardize"
    ),
    "neural.normalization": "normalized",
    "neural.pooling": "window_pick window_put window_spread window_sum",
    "neural.lstm": "lstm_steps",
    "neural.recurrence": "gru_steps rnn_steps",
    "order.extremes": "sample_std sample_var",
    "order.nan_quantiles": "nanmedian nanpercentile nanquantile",
    "order.quantiles": "median order_statistics percentile quantile statistics_of_rows",
    "order.sorting": "partition partition_along sort sort_along sort_complex",
    "order.sets": "intersect1d setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse unique_values",
    "reductions.cumulative": (
        "cumprod cumsum cumulative_prod cumulative_sum running_logsumexp running_max running_min running_product "
        "running_sum ufunc.accumulate"
    ),
    "reductions.histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
    "reductions.nan_reductions": ("nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar"),
    "reductions.norms": "euclidean_norm matrix_norm norm p_norm vector_norm",
    "reductions.statistics": "average corrcoef cov",
    "shape.joining": (
        "append array_split block column_stack concatenate dsplit dstack hsplit hstack join pile split stack unstack "
        "vsplit vstack"
    ),
    "shape.padding": "pad pad_zeros",
    "shape.pieces": (
        "addcdiv addcmul addmm cdist chunk dist flatten_axes lerp narrow rsqrt split_by t transposed unbind unflatten"
    ),
    "shape.repeating": "repeat repeat_each resize tile",
    "shape.restrided": "at_strides",
    "shape.turning": "flip fliplr flipud roll rot90",
    "signal.calculus": "diff ediff1d gradient interp trapezoid unwrap unwrapped",
    "signal.convolution": (
        "convolve convolve_full correlate overlap_add polyadd polyder polyint polymul polysub polyval "
        "sliding_window_view vander windows"
    ),
    "signal.fft": (
        "fft fft2 fftn fftshift fourier from_half_spectrum half_spectrum hfft ifft ifft2 ifftn ifftshift "
        "ihfft inverse_fourier irfft irfft2 irfftn rfft rfft2 rfftn weighted_half"
    ),
    "signal.polynomials": "poly polydiv polyfit roots trim_zeros",
}
LATER |= {name: f"adjoint.ops.{family}" for family, names in _RARER.items() for name in names.split()}
FUNCTIONS |= {name: f"adjoint.ops.order.extremes:{name}" for name in ("cummax", "cummin", "topk")}
FUNCTIONS["numel"] = "adjoint.ops.shape.pieces:numel"
_PYTORCHS = (
    "addmv addr aminmax bartlett_window blackman_window block_diag bucketize cartesian_prod cat "
    "chain_matmul cholesky_inverse cholesky_solve clamp_max clamp_min combinations complex "
    "cumulative_trapezoid diag_embed dist div frac hamming_window hann_window histc index_copy index_fill "
    "index_put is_complex is_floating_point is_nonzero kthvalue logcumsumexp logdet masked_scatter "
    "matrix_exp mode msort nonzero pdist polar renorm std_mean swapdims take_along_dim tensor_split tril_indices "
    "triu_indices unfold unique_consecutive var_mean view_as_complex view_as_real"
)
FUNCTIONS |= {name: f"adjoint.ops.pytorch:{name}" for name in _PYTORCHS.split()}
FUNCTIONS |= {"norm": "adjoint.ops.pytorch:norm"}  # NumPy's is ``np.linalg.norm``, of matrices another one
FUNCTIONS |= {"concat": "adjoint.ops.pytorch:cat", "pinverse": "pinv", "trapz": "trapezoid"}
FUNCTIONS |= {"bitwise_not": "invert", "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}
MEANT |= {name: f"adjoint.ops.order.extremes:{name}_along" for name in ("argsort", "max", "min", "sort")}
MEANT |= {"add": "adjoint.ops.pytorch:added", "subtract": "adjoint.ops.pytorch:subtracted"}
MEANT |= {"divide": "adjoint.ops.pytorch:div"}
MEANT |= {name: f"adjoint.ops.pytorch:{name}" for name in ("logit", "median")}
MEANT |= {
    "norm": "adjoint.ops.reductions.norms:norm_of_elements",
    "flatten": "flatten_axes",
    "split": "split_by",
    "std": "sample_std",
    "var": "sample_var",
}
LATER[SPECIAL] = "adjoint.ops.special.scipy_special"
