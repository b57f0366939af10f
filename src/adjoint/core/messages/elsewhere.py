"""Names that PyTorch, JAX or NumPy has and adjoint does not: one table says what to call instead."""

from __future__ import annotations

import sys
from types import FrameType

from adjoint.core.late import service
from adjoint.core.types import Value

CPU = "arrays are NumPy's, on the CPU, or CuPy's, on a GPU: t.to('cuda') and model.to('cuda') move them"
LOW = "adjoint has no quantised, sparse or nested tensors; sparse matrices of SciPy's multiply tensors: A @ t"
AMP = "convert what should have another precision: t.astype(np.float32), model.astype(np.float32)"


def each(names: str, sentence: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), sentence)


def each_in_place(names: str, pattern: str) -> dict[str, str]:
    """The sentences of the names with an underscore behind."""
    return {f"{name}_": pattern.format(name) for name in names.split()}


def each_named(names: str, pattern: str) -> dict[str, str]:
    return {name: pattern.format(name) for name in names.split()}


#: For each class, the sentence for each name. ``{}`` stands for the name.
CLASSES: dict[str, dict[str, str]] = {
    "tensor": {
        **each("mps xpu is_mps get_device pin_memory is_pinned share_memory_ record_stream", CPU),
        "bfloat16": "t.astype(np.float16) or np.float32: NumPy has no bfloat16",
        **each("to_sparse to_dense coalesce is_sparse is_quantized dequantize", LOW),
        "normal_": "nn.init.normal_(t, mean, std, rng=0)",
        "uniform_": "nn.init.uniform_(t, low, high, rng=0)",
        "bernoulli_": "t.copy_(rng.random(t.shape) < p), with rng = np.random.default_rng(0)",
        "random_": "t.copy_(rng.integers(low, high, t.shape)), with rng = np.random.default_rng(0)",
        "log_normal_": "t.copy_(rng.lognormal(mean, std, t.shape)), with rng = np.random.default_rng(0)",
        "exponential_": "t.copy_(rng.exponential(1 / lambd, t.shape)), with rng = np.random.default_rng(0)",
        "cauchy_": "t.copy_(rng.standard_cauchy(t.shape)), with rng = np.random.default_rng(0)",
        "geometric_": "t.copy_(rng.geometric(p, t.shape)), with rng = np.random.default_rng(0)",
        "multinomial": "rng.choice(len(p), n, p=p.numpy()), with rng = np.random.default_rng(0)",
        "bernoulli": "rng.random(p.shape) < p.numpy(), with rng = np.random.default_rng(0)",
        "at": "tensors can be written: y = t.copy(); y[index] = value, or y[index] += value",
        "block_until_ready": "calls are done when they return: leave it out",
        "device_buffer": CPU,
        "storage": "t.detach().numpy()",
        "data_ptr": "t.detach().numpy().ctypes.data",
        **each("values indices", "ad.max(t, dim=1), t.sort(dim=1): with dim= a function gives values and indices"),
        "cross": "np.cross(t, u)",
        "unique": "np.unique(t)",
        "bincount": "np.bincount(t.numpy())",
        "quantile": "np.quantile(t, q, axis)",
        "cat": "np.concatenate([t, u], axis), or ad.cat",
        "requires_gradient": "t.requires_grad",
        "cumulative_sum": "t.cumsum(axis)",
        "append": "np.append(t, values)",
        "tobytes": "t.detach().numpy().tobytes()",
        "tofile": "t.detach().numpy().tofile(path)",
        "newbyteorder": "t.detach().numpy()",
        "strides": "t.detach().numpy().strides",
        "flags": "t.detach().numpy().flags",
        "ctypes": "t.detach().numpy().ctypes",
        "base": "t.detach().numpy().base",
        "byteswap": "t.detach().numpy().byteswap()",
        "getfield": "t.detach().numpy().getfield(dtype)",
        "dumps": "pickle.dumps(t), or ad.save(t, path)",
        "dump": "ad.save(t, path)",
        "resize_": "t.reshape(shape); tensors keep their shape",
        "squeeze_": "t.squeeze(); tensors keep their shape",
        "unsqueeze_": "t.unsqueeze(dim); tensors keep their shape",
        "t_": "t.T; tensors keep their shape",
        "transpose_": "t.transpose(…); tensors keep their shape",
        "map_": "t[...] = values",
        "apply_": "t[...] = np.vectorize(f)(t)",
        "backward_": "t.backward()",
        **each_named("angle argwhere arctan2 copysign corrcoef cov diagflat diff divide dsplit fix "
              "float_power "
              "floor_divide fmax fmin frexp gcd greater greater_equal heaviside histogram hsplit hypot isclose "
              "isneginf isposinf "
              "isreal kron lcm ldexp less less_equal logaddexp logaddexp2 logical_xor moveaxis multiply nanmean "
              "nanmedian "
              "nanquantile nextafter not_equal signbit subtract vdot vsplit where", "np.{}(t, …)"),
        **each_named("cholesky eig lstsq matrix_power pinv qr slogdet solve svd", "np.linalg.{}(t, …)"),
        **each_named("digamma erfc erfinv polygamma xlogy", "scipy.special.{}(t, …), which takes tensors"),
        "lgamma": "scipy.special.gammaln(t), which takes tensors",
        "sgn": "np.sign(t)",
        "true_divide": "t / u",
        "mH": "t.mT.conj()",
        "H": "t.T.conj()",
        "adjoint": "t.mT.conj()",
        "split_with_sizes": "t.split(sizes, dim)",
        "new": "t.new_tensor(data)",
        "retains_grad": "t.retain_grad() before the backward pass, then t.grad",
        "is_cpu": "t.device == 'cpu'",
        **each_named("bitwise_left_shift bitwise_right_shift bitwise_not", "np.{}(t, …)"),
        **each_in_place("arctan2 bitwise_left_shift bitwise_not bitwise_right_shift copysign "
              "divide fix float_power floor_divide gcd greater greater_equal heaviside hypot lcm ldexp less less_equal "
              "logical_xor multiply nextafter not_equal subtract true_divide", "t[...] = np.{}(t, …)"),
        **each_in_place("digamma erfc erfinv polygamma xlogy", "t[...] = scipy.special.{}(t, …)"),
        **each("igamma igammac igamma_ igammac_", "scipy.special.gammainc(t, x), scipy.special.gammaincc(t, x)"),
        **each("mvlgamma mvlgamma_", "scipy.special.gammaln(t[..., None] - np.arange(p) / 2).sum(-1) + a constant"),
        "lgamma_": "t[...] = scipy.special.gammaln(t)",
        "sgn_": "t[...] = np.sign(t)",
        **each("index_reduce index_reduce_", "t.scatter_reduce(dim, index, src, reduce)"),
        "put_": "t.reshape(-1)[index] = values",
        **each("set_ resize_as resize_as_", "t = u.copy(); tensors keep their shape"),
        **each("swapaxes_ swapdims_", "t.swapaxes(a, b); tensors keep their shape"),
        **each("addbmm addbmm_ baddbmm baddbmm_ sspaddmm", "beta * t + alpha * (a @ b)"),
        "ger": "np.outer(t, u)",
        **each("as_strided as_strided_ as_strided_scatter",
                "np.lib.stride_tricks.as_strided(t, shape, strides), with strides in bytes"),
        **each("diagonal_scatter select_scatter slice_scatter slice_inverse", "y = t.copy(); y[index] = values"),
        **each("narrow_copy unsafe_chunk unsafe_split unsafe_split_with_sizes",
                "t.narrow(…).copy(), t.chunk(…), t.split(…)"),
        "sum_to_size": "t.sum(axes, keepdims=True)",
        "index": "t[indices]",
        "nonzero_static": "np.argwhere(t)",
        "pinverse": "np.linalg.pinv(t)",
        **each("cholesky_inverse cholesky_solve lu lu_solve triangular_solve geqrf orgqr ormqr symeig",
                "adjoint.scipy.linalg has lu_factor, lu_solve, cho_solve, solve_triangular; np.linalg has qr, eigh"),
        **each("stft istft", "adjoint.scipy.signal.stft, adjoint.scipy.signal.istft"),
        **each("prelu hardshrink", "nn.functional.prelu(t, weight), nn.functional.hardshrink(t)"),
        **each("cfloat cdouble chalf", "t.astype(np.complex64), t.astype(np.complex128)"),
        **each("conj_physical conj_physical_ resolve_conj resolve_neg", "t.conj()"),
        **each("is_conj is_neg is_inference is_shared is_nested is_meta is_coalesced is_distributed",
                "leave it out: tensors hold one array of NumPy's"),
        "is_signed": "t.dtype.kind in 'if'",
        "is_set_to": "np.shares_memory(t.numpy(), u.numpy())",
        **each("layout storage_offset storage_type untyped_storage const_data_ptr dim_order hash_tensor name output_nr "
              "grad_dtype module_load map2_ reinforce as_subclass new_empty_strided",
                "t.detach().numpy() has the array, with its strides, flags and memory"),
        **each("ipu mtia is_ipu is_maia is_mtia is_xla is_vulkan is_xpu is_mkldnn to_mkldnn", CPU),
        **each("ccol_indices col_indices crow_indices row_indices dense_dim sparse_dim is_sparse_csr "
              "sparse_mask sparse_resize_ sparse_resize_and_clear_ resize_as_sparse_ smm to_sparse_bsc to_sparse_bsr "
              "to_sparse_coo to_sparse_csc to_sparse_csr to_padded_tensor int_repr q_per_channel_axis "
              "q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme", LOW),
    },
    "optimizer": {
        **each("register_step_pre_hook register_step_post_hook OptimizerPreHook OptimizerPostHook profile_hook_step",
                "a subclass whose step calls super().step()"),
        **each("register_state_dict_pre_hook register_state_dict_post_hook register_load_state_dict_pre_hook "
              "register_load_state_dict_post_hook", "a subclass whose state_dict calls super().state_dict()"),
    },
    "module": {
        **each("xpu to_empty share_memory", CPU),
        "bfloat16": AMP,
        "compile": "ad.compile(model)",
        "type": "model.astype(dtype)",
        "register_backward_hook": "module.register_full_backward_hook(hook)",
        **each("get_extra_state set_extra_state", "self.register_buffer(name, array): state_dict has it"),
        **each("register_state_dict_pre_hook register_state_dict_post_hook register_load_state_dict_pre_hook "
              "register_load_state_dict_post_hook",
                "write a method that calls super().state_dict() or super().load_state_dict(state)"),
        "set_submodule": "setattr(model.get_submodule(path), name, module), or nn.Sequential's s[i] = module",
        **each("ipu mtia", CPU),
        "reset_parameters": "layers with parameters have it: for m in model.modules(): …; other modules have none",
        "T_destination": "model.state_dict() is a dict of arrays",
        **each("call_super_init dump_patches", "leave it out: a Module needs no super().__init__()"),
        "init": "layers hold their parameters when they are made; functional_call takes others",
        "init_weights": "model.apply(function), with nn.init's functions",
    },
}  # fmt: skip


def sentences(place: str) -> dict[str, str]:
    """The sentences of a class, or of a module."""
    return CLASSES.get(place) or service("sentences")[place]


def sentence(place: str, name: str) -> str | None:
    """What to write for `name` of a module or class; None if it is not in the table."""
    return sentences(place).get(name)


def looked_up(place: str, name: str) -> AttributeError | ImportError:
    """The error for a name that a module has not: it says what to write.

    ``from module import name`` replaces an AttributeError by an error of its own; so there it is an ImportError.
    """
    where = "'adjoint'" if place == "adjoint" else f"'adjoint.{place}'"
    said = sentence(place, name)
    if said is None and place == "adjoint":
        said = _numpys(name) or CLASSES["tensor"].get(name) or _of_tensors(name)
    said = f". Here it is: {said}" if said else ""
    if _is_import(sys._getframe(2)):
        return ImportError(f"cannot import name {name!r} from {where}{said}", name=name)
    return AttributeError(f"module {where} has no attribute {name!r}{said}", name=name)


def _is_import(frame: FrameType) -> bool:
    """Whether ``from … import …`` asks for the name in this frame."""
    from opcode import opname  # for an error only

    return opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def _numpys(name: str) -> str | None:
    import numpy as np  # it is loaded

    return f"np.{name}, which is NumPy's" if name[:1] != "_" and hasattr(np, name) else None


def _of_tensors(name: str) -> str | None:
    """The method of tensors with this name: what PyTorch has as a function too, such as ``torch.relu_(t)``."""
    return f"t.{name}(…)" if name[:1] != "_" and callable(getattr(service("tensors"), name, None)) else None


class Elsewhere:
    """An attribute that a class does not have: the error says what to write."""

    def __init__(self, place: str, name: str) -> None:
        self.place, self.name = place, name

    def __get__(self, instance: object, owner: type | None = None) -> Value:
        said = sentence(self.place, self.name)
        what = "a tensor" if self.place == "tensor" else type(instance).__name__
        raise AttributeError(f"{what} has no attribute {self.name!r}. Here it is: {said}", name=self.name)


def answer_names(kind: type, place: str) -> None:
    """Let `kind` answer the names of `place` in the table, but for those that it has."""
    for name in sentences(place):
        if not hasattr(kind, name):
            setattr(kind, name, Elsewhere(place, name))
