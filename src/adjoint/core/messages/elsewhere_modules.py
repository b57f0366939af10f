"""What `elsewhere` says of names of modules. It loads when somebody asks for one that is not there."""

from __future__ import annotations

from adjoint.core.messages.elsewhere import AMP, CPU, LOW, each, each_named

_RNG = "adjoint has no global random state: rng = np.random.default_rng(0), then ad.tensor({}), and rng= of layers"
_DEVICE = "several processes work together by ad.distributed"

#: For each module, the sentence for each name. ``{}`` stands for the name.
MODULES: dict[str, dict[str, str]] = {
    "adjoint": {
        **each("manual_seed seed initial_seed random default_generator Generator get_rng_state set_rng_state PRNGKey",
                "adjoint has no global random state: say rng=0, or rng=np.random.default_rng(0), where it is drawn"),
        **each("randn randn_like", _RNG.format("rng.normal(size=(2, 3))")),
        **each("rand rand_like", _RNG.format("rng.random((2, 3))")),
        **each("randint randint_like", _RNG.format("rng.integers(0, 10, 3)")),
        "randperm": _RNG.format("rng.permutation(5)"),
        "normal": _RNG.format("rng.normal(mean, std)"),
        "bernoulli": _RNG.format("rng.random(p.shape) < p.numpy()"),
        "multinomial": _RNG.format("rng.choice(len(p), n, p=p.numpy())"),
        "poisson": _RNG.format("rng.poisson(t.numpy())"),
        **each("mps xpu accelerator get_default_device set_default_device device_put device_get devices", CPU),
        **each("autocast amp GradScaler set_default_dtype get_default_dtype set_default_tensor_type", AMP),
        **each("multiprocessing pmap shard_map nccl", _DEVICE),
        **each("sparse sparse_coo_tensor sparse_csr_tensor quantize_per_tensor quantization nested", LOW),
        "functional": "layers' functions are in ad.nn.functional, optimisers as pure functions in ad.optim.functional",
        "distributions": "ad.scipy.stats has densities: ad.scipy.stats.norm.logpdf(x, mean, std); NumPy's rng draws",
        **each("vision datasets", "ad.data reads folders of pictures, MNIST's files, CSV and .npz: "
                "ad.data.load(path)"),
        "jit": "ad.compile(f) records f and makes native code of it",
        "script": "ad.compile(f) records f and makes native code of it",
        "make_jaxpr": "ad.capture(f)(x) gives the graph; ad.show draws it",
        "export": "ad.capture(f)(x) gives the program as a graph",
        "fx": "ad.capture(f)(x) gives the program as a graph",
        "numpy": "write NumPy itself: np.sin(t) works on tensors, and inside of every transform",
        "lax": "write Python: loops, if and np.where are followed; ad.checkpoint_scan is a scan with little memory",
        **each("scan fori_loop while_loop switch", "write Python's for, while and if: they are followed; "
                "ad.checkpoint_scan is a scan with little memory"),
        "tree_util": "transforms take and give trees (dicts, lists, tuples); optree has functions for these",
        **each("tree_map tree", "transforms take and give trees (dicts, lists, tuples); optree.tree_map maps one"),
        "block_until_ready": "calls are done when they return: leave it out",
        "stop_grad": "ad.stop_gradient(x), or t.detach()",
        "checkpoint_policies": "ad.save_nothing, ad.save_matmuls, ad.save_only_names(…): ad.checkpoint(f, policy=…)",
        "remat": "ad.checkpoint(f)",
        "custom_gradient": "@ad.custom_vjp",
        "Variable": "ad.tensor(x, requires_grad=True)",
        **each("FloatTensor DoubleTensor LongTensor IntTensor BoolTensor HalfTensor", "ad.tensor(x, dtype=…)"),
        "get_num_threads": "NumPy's BLAS has its threads: OPENBLAS_NUM_THREADS, or threadpoolctl",
        "set_num_threads": "NumPy's BLAS has its threads: OPENBLAS_NUM_THREADS, or threadpoolctl",
        "set_printoptions": "np.set_printoptions(…)",
        "get_printoptions": "np.get_printoptions()",
        **each("onnx hub backends library classes package monitor profiler overrides",
                "adjoint has no counterpart of it; ad.capture gives a program as a graph, ad.trace_backward its times"),
        "vector_to_parameters": "nn.utils.vector_to_parameters",
        "scalar_tensor": "ad.tensor(x)",
        "asarray": "ad.as_tensor(x)",
        "promote_types": "np.promote_types(a, b)",
        "stft": "adjoint.scipy.signal.stft",
        "istft": "adjoint.scipy.signal.istft",
        "celu": "nn.functional.celu",
        "selu": "nn.functional.selu",
        "dropout": "nn.functional.dropout",
        "conv2d": "nn.functional.conv2d",
        "layer_norm": "nn.functional.layer_norm",
        "batch_norm": "nn.functional.batch_norm",
        "cosine_similarity": "nn.functional.cosine_similarity",
        "pairwise_distance": "nn.functional.pairwise_distance",
        "embedding": "nn.functional.embedding",
        **each_named("adaptive_avg_pool1d adaptive_max_pool1d avg_pool1d alpha_dropout bilinear conv1d conv3d "
              "conv_transpose1d conv_transpose2d "
              "conv_transpose3d cosine_embedding_loss ctc_loss embedding_bag group_norm hardshrink "
              "hinge_embedding_loss instance_norm "
              "margin_ranking_loss max_pool1d max_pool2d max_pool3d one_hot pixel_shuffle pixel_unshuffle "
              "poisson_nll_loss rms_norm "
              "rrelu threshold triplet_margin_loss binary_cross_entropy_with_logits channel_shuffle",
              "nn.functional.{}"),
        **each_named("GRU LSTM RNN", "nn.{}"),
        **each("lstm gru rnn_tanh rnn_relu", "nn.LSTM, nn.GRU, nn.RNN"),
        **each("lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell", "nn.LSTMCell, nn.GRUCell, nn.RNNCell"),
        "detach": "t.detach()",
        "range": "ad.arange(start, end)",
        **each("lu lu_unpack lu_solve", "adjoint.scipy.linalg has lu_factor, "
              "lu_solve, cho_solve"),
        **each("kaiser_window", "np.hanning, "
              "np.hamming, np.blackman, np.kaiser"),
        "use_deterministic_algorithms": "adjoint's results are the same in every run: leave it out",
        "Module": "nn.Module",
        "Parameter": "nn.Parameter",
        "DataLoader": "ad.data.DataLoader",
    },
    "linalg": {
        **each("lu lu_factor lu_solve ldl_factor ldl_solve", "adjoint.scipy.linalg has lu_factor, lu_solve, solve"),
        "householder_product": "np.linalg.qr(t)",
        "vander": "np.vander(t)",
        "cholesky_ex": "np.linalg.cholesky(t)",
    },
    "fft": {},
    "special": {},
    "cuda": {
        **each("manual_seed manual_seed_all", "adjoint has no global random state: say rng=0, or "
                "rng=np.random.default_rng(0), where it is drawn"),
        "amp": AMP,
        **each("synchronize empty_cache current_device get_device_name set_device memory_allocated "
                "max_memory_allocated Stream Event", "CuPy has its own: cupy.cuda"),
    },
    "utils": {
        **each("cpp_extension dlpack mobile_optimizer bottleneck model_zoo", "ad.from_dlpack takes arrays of other "
                "libraries; adjoint has no counterpart of the rest"),
    },
    "autograd": {
        "Variable": "ad.tensor(x, requires_grad=True)",
        "gradcheck": "ad.testing.check_grads(f, x)",
        "gradgradcheck": "ad.testing.check_grads(f, x, order=2)",
        "graph": "ad.saved_tensors_hooks, ad.save_on_disk",
        "profiler": "ad.trace_backward()",
        "forward_ad": "ad.jvp(f, (x,), (v,)), ad.linearize(f, x)",
        "set_detect_anomaly": "with ad.detect_anomaly(): …",
        "inference_mode": "with ad.no_grad(): …",
    },
    "nn": {
        **each("DataParallel parallel SyncBatchNorm", _DEVICE),
        **each("Buffer UninitializedParameter", "self.register_buffer(name, array)"),
        **each("UninitializedBuffer LazyModuleMixin", "nn.LazyLinear has no parameters before the first call"),
        **each("LinearCrossEntropyLoss LinearCrossEntropyOptions", "nn.CrossEntropyLoss()(linear(x), labels)"),
        "attention": "nn.functional.scaled_dot_product_attention",
        **each("common_types factory_kwargs", "layers take dtype=, rng= and device="),
        **each("qat quantizable", LOW),
        "CrossMapLRN2d": "nn.LocalResponseNorm",
        "RNNCellBase": "nn.RNNCell, nn.LSTMCell or nn.GRUCell",
        "MultiLabelMarginLoss2d": "nn.MultiLabelMarginLoss",
        "NLLLoss2d": "nn.NLLLoss",
        "RNNBase": "nn.RNN, nn.LSTM or nn.GRU",
        "quantized": LOW,
        "intrinsic": LOW,
        "Container": "nn.Module",
        "grad": "ad.grad(f)",
        "Dense": "nn.Linear(in_features, out_features)",
        "Conv": "nn.Conv1d, nn.Conv2d or nn.Conv3d",
        "compact": "set layers in __init__ and call them in forward",
        "jit": "ad.compile(model)",
    },
    "nn.utils": {
        "weight_norm": "nn.utils.parametrizations.weight_norm",
        "spectral_norm": "nn.utils.parametrizations.spectral_norm",
        "clip_grad_norm": "nn.utils.clip_grad_norm_",
        "prune": "nn.utils.parametrize.register_parametrization with a mask",
        "stateless": "nn.functional_call",
        **each("fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
                "ad.compile(model.eval()) joins them"),
        **each("convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format memory_format",
                "arrays have NumPy's layouts: np.ascontiguousarray(t)"),
        "clip_grad": "nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_",
        "convert_parameters": "nn.utils.parameters_to_vector, nn.utils.vector_to_parameters",
        **each("remove_weight_norm remove_spectral_norm",
                "nn.utils.parametrize.remove_parametrizations(module, 'weight')"),
        "skip_init": "make the layer; its initial values cost little",
        "init": "nn.init",
        "fusion": "ad.compile(model)",
        "data": "ad.data",
    },
    "nn.functional": {
        **each("upsample upsample_bilinear upsample_nearest", "nn.functional.interpolate"),
        "tanh": "np.tanh(x)",
        "has_torch_function": "boxes answer NumPy's protocols: hasattr(x, '__array_function__')",
        **{f"{name}_": f"x = nn.functional.{name}(x)" for name in
           ["celu", "elu", "hardtanh", "leaky_relu", "relu", "rrelu", "selu", "threshold"]},
        **{f"{kind}_pool{n}d_with_indices": f"nn.functional.{kind}_pool{n}d(x, …, return_indices=True)"
           for kind in ("max", "adaptive_max") for n in (1, 2, 3)},
        **{f"fractional_max_pool{n}d_with_indices": f"nn.functional.fractional_max_pool{n}d(x, …, return_indices=True)"
           for n in (2, 3)},
        "multi_head_attention_forward": "nn.MultiheadAttention, or nn.functional.scaled_dot_product_attention",
        "linear_cross_entropy": "nn.functional.cross_entropy(nn.functional.linear(x, weight), labels)",
        "conv_tbc": "nn.functional.conv1d of np.transpose(x, (1, 2, 0))",
        **each("grouped_mm scaled_mm scaled_grouped_mm ScalingType SwizzleType", LOW),
        **each("handle_torch_function has_torch_function_unary has_torch_function_variadic",
                "boxes answer NumPy's protocols: hasattr(x, '__array_function__')"),
        "adaptive_log_softmax_with_loss": "nn.AdaptiveLogSoftmaxWithLoss",
        "native_channel_shuffle": "x.reshape(n, groups, -1, h, w).swapaxes(1, 2).reshape(n, -1, h, w)",
    },
    "nn.init": {
        **each_named("constant dirac eye sparse", "nn.init.{}_(parameter)"),
    },
    "nn.utils.rnn": {
        **each("invert_permutation bind", "nn.utils.rnn.pack_padded_sequence"),
    },
    "nn.utils.parametrizations": {},
    "nn.utils.parametrize": {
        "cached": "w = layer.weight once, and use w",
        **each("transfer_parametrizations_and_params type_before_parametrizations", "copy.deepcopy(layer)"),
    },
    "data": {
        **each("DistributedSampler distributed", "ad.distributed.DataParallel gives each rank its part of a batch"),
        "get_worker_info": "each batch has seeds of its own: transform=lambda batch, rng: … of ad.data.DataLoader",
        "default_convert": "batches are NumPy arrays already",
        **each("IterDataPipe MapDataPipe DFIterDataPipe DataChunk datapipes functional_datapipe graph graph_settings "
              "argument_validation runtime_validation runtime_validation_disabled guaranteed_datapipes_determinism "
              "non_deterministic", "ad.data.DataLoader takes generators, and classes with __len__ and __getitem__"),
    },
    "optim": {
        "swap_in_optimizer_params_and_state": "model.load_state_dict(state), optimizer.load_state_dict(state)",
        "SparseAdam": "optim.Adam; gradients are dense",
        "CyclicLR": "optim.lr_scheduler.CyclicLR",
        "adamw": "optim.AdamW",
        "apply_updates": "optimizer.step(), or optim.functional",
        "chain": "optimisers have settings: optim.AdamW(…, weight_decay=…), nn.utils.clip_grad_norm_",
    },
}  # fmt: skip
