"""Names that PyTorch, JAX or NumPy has and adjoint does not: one table says what to call instead."""

from __future__ import annotations

from adjoint.core.types import Value

_CPU = "arrays are NumPy's, on the CPU, or CuPy's, on a GPU: t.to('cuda') and model.to('cuda') move them"
_RNG = "adjoint has no global random state: rng = np.random.default_rng(0), then ad.tensor({}), and rng= of layers"
_LOW = "adjoint has no quantised, sparse or nested tensors; sparse matrices of SciPy's multiply tensors: A @ t"
_DEVICE = "several processes work together by ad.distributed"
_AMP = "convert what should have another precision: t.astype(np.float32), model.astype(np.float32)"


def _each(names: str, sentence: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), sentence)


def _as(names: str, pattern: str) -> dict[str, str]:
    return {name: pattern.format(name) for name in names.split()}


#: For each module or class, the sentence for each name. ``{}`` stands for the name.
SENTENCES: dict[str, dict[str, str]] = {
    "adjoint": {
        **_each("manual_seed seed initial_seed random default_generator Generator get_rng_state set_rng_state PRNGKey",
                "adjoint has no global random state: say rng=0, or rng=np.random.default_rng(0), where it is drawn"),
        **_each("randn randn_like", _RNG.format("rng.normal(size=(2, 3))")),
        **_each("rand rand_like", _RNG.format("rng.random((2, 3))")),
        **_each("randint randint_like", _RNG.format("rng.integers(0, 10, 3)")),
        "randperm": _RNG.format("rng.permutation(5)"),
        "normal": _RNG.format("rng.normal(mean, std)"),
        "bernoulli": _RNG.format("rng.random(p.shape) < p.numpy()"),
        "multinomial": _RNG.format("rng.choice(len(p), n, p=p.numpy())"),
        "poisson": _RNG.format("rng.poisson(t.numpy())"),
        **_each("cuda mps xpu accelerator get_default_device set_default_device device_put device_get devices", _CPU),
        **_each("autocast amp GradScaler set_default_dtype get_default_dtype set_default_tensor_type", _AMP),
        **_each("multiprocessing pmap shard_map nccl", _DEVICE),
        **_each("sparse sparse_coo_tensor sparse_csr_tensor quantize_per_tensor quantization nested", _LOW),
        "func": "torch.func's transforms are ad.grad, ad.vmap, ad.vjp, ad.jvp, ad.jacrev, ad.jacfwd, ad.hessian; "
        "functional_call is nn.functional_call",
        "functional": "layers' functions are in ad.nn.functional, optimisers as pure functions in ad.optim.functional",
        "utils": "torch.utils.data's datasets and loaders are in ad.data, checkpoint is ad.checkpoint",
        "jit": "ad.compile(f) records f and makes native code of it",
        "script": "ad.compile(f) records f and makes native code of it",
        "make_jaxpr": "ad.capture(f)(x) gives the graph; ad.show draws it",
        "export": "ad.capture(f)(x) gives the program as a graph",
        "fx": "ad.capture(f)(x) gives the program as a graph",
        "numpy": "write NumPy itself: np.sin(t) works on tensors, and inside of every transform",
        "lax": "write Python: loops, if and np.where are followed; ad.checkpoint_scan is a scan with little memory",
        **_each("scan fori_loop while_loop switch", "write Python's for, while and if: they are followed; "
                "ad.checkpoint_scan is a scan with little memory"),
        "tree_util": "transforms take and give trees (dicts, lists, tuples); optree has functions for these",
        **_each("tree_map tree", "transforms take and give trees (dicts, lists, tuples); optree.tree_map maps one"),
        "block_until_ready": "calls are done when they return: leave it out",
        "stop_grad": "ad.stop_gradient(x), or t.detach()",
        "inference_mode": "with ad.no_grad(): …",
        "checkpoint_policies": "ad.save_nothing, ad.save_matmuls, ad.save_only_names(…): ad.checkpoint(f, policy=…)",
        "remat": "ad.checkpoint(f)",
        "custom_gradient": "@ad.custom_vjp",
        "Variable": "ad.tensor(x, requires_grad=True)",
        **_each("FloatTensor DoubleTensor LongTensor IntTensor BoolTensor HalfTensor", "ad.tensor(x, dtype=…)"),
        "Size": "shapes are tuples: t.shape, t.size()",
        "get_num_threads": "NumPy's BLAS has its threads: OPENBLAS_NUM_THREADS, or threadpoolctl",
        "set_num_threads": "NumPy's BLAS has its threads: OPENBLAS_NUM_THREADS, or threadpoolctl",
        "set_printoptions": "np.set_printoptions(…)",
        "get_printoptions": "np.get_printoptions()",
        **_each("onnx hub backends library classes package monitor profiler overrides",
                "adjoint has no counterpart of it; ad.capture gives a program as a graph, ad.trace_backward its times"),
        "vector_to_parameters": "nn.utils.vector_to_parameters",
        "view_as_real": "np.stack([t.real, t.imag], -1)",
        "view_as_complex": "t[..., 0] + 1j * t[..., 1]",
        "polar": "r * np.exp(1j * angle)",
        "complex": "real + 1j * imag",
        "scalar_tensor": "ad.tensor(x)",
        "asarray": "ad.as_tensor(x)",
        "promote_types": "np.promote_types(a, b)",
        "is_floating_point": "t.dtype.kind == 'f'",
        "is_complex": "t.dtype.kind == 'c'",
        "is_nonzero": "bool(t)",
        "mode": "scipy.stats.mode(t.detach().numpy()), which has no derivative",
        "kthvalue": "np.sort(t, axis)[k - 1], or ad.topk(t, k, largest=False)",
        "histc": "np.histogram(t.detach().numpy(), bins)",
        "bucketize": "np.searchsorted(boundaries, t)",
        "combinations": "t[np.array(list(itertools.combinations(range(len(t)), 2)))]",
        "cartesian_prod": "np.stack(np.meshgrid(a, b, indexing='ij'), -1).reshape(-1, 2)",
        "block_diag": "adjoint.scipy.linalg.block_diag, or np.block",
        "tensor_split": "np.array_split(t, parts, axis)",
        "stft": "adjoint.scipy.signal.stft",
        "istft": "adjoint.scipy.signal.istft",
        "logcumsumexp": "np.logaddexp.accumulate(t, axis)",
        "renorm": "t * np.minimum(1, maxnorm / np.linalg.norm(t, axis=1, keepdims=True))",
        "cumulative_trapezoid": "np.cumsum((y[1:] + y[:-1]) / 2 * dx)",
        "celu": "nn.functional.celu",
        "selu": "nn.functional.selu",
        "dropout": "nn.functional.dropout",
        "conv2d": "nn.functional.conv2d",
        "layer_norm": "nn.functional.layer_norm",
        "batch_norm": "nn.functional.batch_norm",
        "cosine_similarity": "nn.functional.cosine_similarity",
        "pairwise_distance": "nn.functional.pairwise_distance",
        "embedding": "nn.functional.embedding",
        **_as("adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d alpha_dropout bilinear conv1d conv3d "
              "conv_transpose1d conv_transpose2d "
              "conv_transpose3d cosine_embedding_loss ctc_loss embedding_bag group_norm hardshrink "
              "hinge_embedding_loss instance_norm "
              "margin_ranking_loss max_pool1d max_pool2d max_pool3d one_hot pixel_shuffle pixel_unshuffle "
              "poisson_nll_loss rms_norm "
              "rrelu threshold triplet_margin_loss binary_cross_entropy_with_logits channel_shuffle",
              "nn.functional.{}"),
        **_as("GRU LSTM RNN", "nn.{}"),
        **_each("lstm gru rnn_tanh rnn_relu", "nn.LSTM, nn.GRU, nn.RNN"),
        **_each("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell", "nn.LSTMCell, nn.GRUCell, nn.RNNCell"),
        **_as("clamp_min clamp_max detach frac", "t.{}(…), or np.clip and np.trunc"),
        "std_mean": "(t.std(axis), t.mean(axis))",
        "var_mean": "(t.var(axis), t.mean(axis))",
        "aminmax": "(t.amin(dim), t.amax(dim))",
        "range": "ad.arange(start, end)",
        "trapz": "np.trapezoid",
        "chain_matmul": "np.linalg.multi_dot",
        "logdet": "np.linalg.slogdet(t)[1]",
        **_each("matrix_exp", "adjoint.scipy.linalg.expm"),
        **_each("lu lu_unpack lu_solve cholesky_solve cholesky_inverse", "adjoint.scipy.linalg has lu, lu_factor, "
              "lu_solve, cho_solve"),
        **_each("pinverse", "np.linalg.pinv(t)"),
        **_each("tril_indices triu_indices", "np.tril_indices(n), np.triu_indices(n)"),
        **_each("hann_window hamming_window blackman_window kaiser_window bartlett_window", "np.hanning, "
              "np.hamming, np.blackman, np.kaiser"),
        "use_deterministic_algorithms": "adjoint's results are the same in every run: leave it out",
        "Module": "nn.Module",
        "Parameter": "nn.Parameter",
        "DataLoader": "ad.data.DataLoader",
    },
    "autograd": {
        "Function": "a function with a derivative of its own is @ad.custom_vjp, or ad.op (docs/howto/own_rules.md)",
        "Variable": "ad.tensor(x, requires_grad=True)",
        "functional": "ad.jacobian(f)(x), ad.hessian(f)(x), ad.jvp(f, (x,), (v,)), ad.vjp(f, x), ad.hvp(f, x, v)",
        "gradcheck": "ad.testing.check_grads(f, x)",
        "gradgradcheck": "ad.testing.check_grads(f, x, order=2)",
        "graph": "ad.saved_tensors_hooks, ad.save_on_disk",
        "profiler": "ad.trace_backward()",
        "forward_ad": "ad.jvp(f, (x,), (v,)), ad.linearize(f, x)",
        "set_detect_anomaly": "with ad.detect_anomaly(): …",
        "inference_mode": "with ad.no_grad(): …",
    },
    "nn": {
        **_each("DataParallel parallel SyncBatchNorm", _DEVICE),
        **_each("Buffer UninitializedParameter", "self.register_buffer(name, array)"),
        **_each("LazyLinear LazyConv1d LazyConv2d LazyConv3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d",
                "say the number of inputs: nn.Linear(in_features, out_features)"),
        **_each("FractionalMaxPool2d FractionalMaxPool3d", "nn.MaxPool2d, nn.MaxPool3d"),
        "CrossMapLRN2d": "nn.LocalResponseNorm",
        "RNNCellBase": "nn.RNNCell, nn.LSTMCell or nn.GRUCell",
        "MultiLabelMarginLoss2d": "nn.MultiLabelMarginLoss",
        "NLLLoss2d": "nn.NLLLoss",
        "AdaptiveLogSoftmaxWithLoss": "nn.CrossEntropyLoss over all classes",
        "RNNBase": "nn.RNN, nn.LSTM or nn.GRU",
        "quantized": _LOW,
        "intrinsic": _LOW,
        "Container": "nn.Module",
        "grad": "ad.grad(f)",
        "Dense": "nn.Linear(in_features, out_features)",
        "Conv": "nn.Conv1d, nn.Conv2d or nn.Conv3d",
        "compact": "set layers in __init__ and call them in forward",
        "jit": "ad.compile(model)",
    },
    "nn.utils": {
        **_each("rnn", "sequences of several lengths: nn.LSTM(…)(x, lengths=…)"),
        "weight_norm": "nn.utils.parametrizations.weight_norm",
        "spectral_norm": "nn.utils.parametrizations.spectral_norm",
        "clip_grad_norm": "nn.utils.clip_grad_norm_",
        "prune": "nn.utils.parametrize.register_parametrization with a mask",
        "stateless": "nn.functional_call",
        "fusion": "ad.compile(model)",
        "data": "ad.data",
    },
    "nn.functional": {
        **_each("upsample upsample_bilinear upsample_nearest", "nn.functional.interpolate"),
        "tanh": "np.tanh(x)",
        "has_torch_function": "boxes answer NumPy's protocols: hasattr(x, '__array_function__')",
        "adaptive_log_softmax_with_loss": "nn.functional.cross_entropy over all classes",
        "native_channel_shuffle": "x.reshape(n, groups, -1, h, w).swapaxes(1, 2).reshape(n, -1, h, w)",
    },
    "optim": {
        "SparseAdam": "optim.Adam; gradients are dense",
        "CyclicLR": "optim.lr_scheduler.CyclicLR",
        "swa_utils": "nn.AveragedModel keeps averaged weights",
        "adamw": "optim.AdamW",
        "apply_updates": "optimizer.step(), or optim.functional",
        "chain": "optimisers have settings: optim.AdamW(…, weight_decay=…), nn.utils.clip_grad_norm_",
    },
    "tensor": {
        **_each("mps xpu is_mps get_device pin_memory is_pinned share_memory_ record_stream", _CPU),
        **_each("bfloat16 char byte", "t.astype(dtype), by a dtype of NumPy's"),
        **_each("to_sparse to_dense coalesce is_sparse is_quantized dequantize", _LOW),
        **_each("normal_ uniform_ bernoulli_ random_ exponential_ cauchy_ log_normal_ geometric_",
                "t.copy_(rng.normal(size=t.shape)), with rng = np.random.default_rng(0)"),
        "multinomial": "rng.choice(len(p), n, p=p.numpy()), with rng = np.random.default_rng(0)",
        "bernoulli": "rng.random(p.shape) < p.numpy(), with rng = np.random.default_rng(0)",
        "at": "tensors can be written: y = t.copy(); y[index] = value, or y[index] += value",
        "block_until_ready": "calls are done when they return: leave it out",
        "device_buffer": _CPU,
        "grad_fn": "t.requires_grad says whether there is a graph; ad.show(t) draws it",
        "is_contiguous": "t.numpy().flags.c_contiguous of a tensor without a graph",
        "stride": "t.detach().numpy().strides",
        "storage": "t.detach().numpy()",
        "data_ptr": "t.detach().numpy().ctypes.data",
        "element_size": "t.itemsize",
        "type": "t.dtype, or t.astype(dtype)",
        "unfold": "np.lib.stride_tricks.sliding_window_view(t, size, axis)",
        "median": "np.median(t, axis): the mean of the two in the middle; ad.median(t, dim=…) gives the lower of them",
        "mode": "scipy.stats.mode(t.detach().numpy()), which has no derivative",
        "cross": "np.cross(t, u)",
        "unique": "np.unique(t)",
        "bincount": "np.bincount(t.numpy())",
        "histc": "np.histogram(t.detach().numpy(), bins)",
        "quantile": "np.quantile(t, q, axis)",
        "logit": "np.log(t / (1 - t))",
        "kthvalue": "np.sort(t, axis)[k - 1], or t.topk(k, largest=False)",
        "count_nonzero": "np.count_nonzero(t)",
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
        "resize": "np.resize(t, shape)",
        "resize_": "t.reshape(shape); tensors keep their shape",
        "squeeze_": "t.squeeze(); tensors keep their shape",
        "unsqueeze_": "t.unsqueeze(dim); tensors keep their shape",
        "t_": "t.T; tensors keep their shape",
        "transpose_": "t.transpose(…); tensors keep their shape",
        "detach_": "t = t.detach()",
        "map_": "t[...] = values",
        "apply_": "t[...] = np.vectorize(f)(t)",
        "backward_": "t.backward()",
        **_as("angle argwhere arctan2 broadcast_to copysign corrcoef cov diagflat diff divide dsplit fix fliplr "
              "flipud float_power "
              "floor_divide fmax fmin frexp gcd greater greater_equal heaviside histogram hsplit hypot isclose "
              "isneginf isposinf "
              "isreal kron lcm ldexp less less_equal logaddexp logaddexp2 logical_xor moveaxis multiply nanmean "
              "nanmedian "
              "nanquantile nextafter not_equal rot90 signbit subtract vdot vsplit where bitwise_and bitwise_or "
              "bitwise_xor", "np.{}(t, …)"),
        **_as("cholesky eig lstsq matrix_power pinv qr slogdet solve svd", "np.linalg.{}(t, …)"),
        **_as("digamma erfc erfinv polygamma xlogy", "scipy.special.{}(t, …), which takes tensors"),
        "lgamma": "scipy.special.gammaln(t), which takes tensors",
        "equal": "np.array_equal(t, u)",
        "sgn": "np.sign(t)",
        "true_divide": "t / u",
        "reshape_as": "t.reshape(u.shape)",
        "ndimension": "t.ndim",
        "nelement": "t.numel()",
        "is_complex": "t.dtype.kind == 'c'",
        "is_floating_point": "t.dtype.kind == 'f'",
        "is_nonzero": "bool(t)",
        "mH": "t.mT.conj()",
        "H": "t.T.conj()",
        "adjoint": "t.mT.conj()",
        "logdet": "np.linalg.slogdet(t)[1]",
        "aminmax": "(t.amin(dim), t.amax(dim))",
        "index_fill": "y = t.copy(); y[index] = value",
        "index_copy": "y = t.copy(); y[index] = values",
        "index_put": "y = t.copy(); y[index] = values",
        "index_put_": "t[index] = values",
        "masked_scatter": "y = t.copy(); y[mask] = values",
        "diag_embed": "t[..., None] * np.eye(n)",
        "swapdims": "t.swapaxes(a, b)",
        "take_along_dim": "np.take_along_axis(t, index, axis)",
        "tensor_split": "np.array_split(t, parts, axis)",
        "split_with_sizes": "t.split(sizes, dim)",
        "new_empty": "t.new_zeros(shape)",
        "new": "t.new_tensor(data)",
        "retains_grad": "t.retain_grad() before the backward pass, then t.grad",
        "is_cpu": "t.device == 'cpu'",
    },
    "module": {
        **_each("xpu to_empty share_memory", _CPU),
        "bfloat16": _AMP,
        "compile": "ad.compile(model)",
        "half": _AMP,
        "type": "model.astype(dtype)",
        "get_submodule": "dict(model.named_modules())[path]",
        "get_parameter": "dict(model.named_parameters())[path]",
        "get_buffer": "dict(model.named_buffers())[path]",
        **_each("register_forward_hook register_forward_pre_hook register_full_backward_hook register_backward_hook",
                "wrap it: a Module whose forward calls it; a result's cotangent is seen by t.register_hook(f)"),
        "init": "layers hold their parameters when they are made; functional_call takes others",
        "init_weights": "model.apply(function), with nn.init's functions",
    },
}  # fmt: skip


def sentence(place: str, name: str) -> str | None:
    """What to write for `name` of a module or class; None if it is not in the table."""
    return SENTENCES[place].get(name)


def looked_up(place: str, name: str) -> AttributeError:
    """The error for a name that a module has not: it says what to write, or the names that are near."""
    where = "module 'adjoint'" if place == "adjoint" else f"module 'adjoint.{place}'"
    said = sentence(place, name) or (_numpys(name) if place == "adjoint" else None)
    return AttributeError(f"{where} has no attribute {name!r}" + (f". Here it is: {said}" if said else ""), name=name)


def _numpys(name: str) -> str | None:
    import numpy as np  # it is loaded

    return f"np.{name}, which is NumPy's" if name[:1] != "_" and hasattr(np, name) else None


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
    for name in SENTENCES[place]:
        if not hasattr(kind, name):
            setattr(kind, name, Elsewhere(place, name))
