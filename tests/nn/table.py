"""Layers and functions as PyTorch has them: cases that `scripts/torch_values.py` runs there, and the tests run here.

A case is what to build, how to call it, and the arrays: a shape, or ``("labels", shape, count)`` and the like.
"""

import numpy as np

F = "functional."


def layer(name, *args, x, **options):
    return {"name": name, "args": args, "options": options, "x": x if isinstance(x, list) else [x]}


def eval_layer(name, *args, x, **options):
    return layer(name, *args, x=x, **options) | {"train": False}


def function(name, *arrays, **options):
    return {"name": F + name, "args": (), "options": options, "x": list(arrays)}


def labels(shape, count):
    return ("labels", shape, count)


def within(shape, low, high):
    return ("within", shape, low, high)


def signs(*shape):
    return ("signs", shape)


def logp(*shape):
    return ("logp", shape)


def mask(*shape):
    return ("mask", shape)


def drawn(*shape):
    """Numbers in [0, 1)."""
    return np.random.default_rng(len(shape)).random(shape)


IMAGE, SOUND, SOLID = (2, 4, 7, 6), (2, 4, 9), (1, 2, 4, 5, 4)

CONVOLUTIONS = [
    layer("Conv1d", 4, 6, 3, x=SOUND),
    layer("Conv1d", 4, 6, 3, stride=2, padding=1, dilation=2, groups=2, bias=False, x=SOUND),
    layer("Conv1d", 4, 2, 3, padding="same", x=(4, 9)),
    layer("Conv2d", 4, 6, 3, x=IMAGE),
    layer("Conv2d", 4, 8, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=4, x=IMAGE),
    layer("Conv2d", 4, 6, 1, x=IMAGE),
    layer("Conv2d", 4, 4, 3, padding="same", groups=4, padding_mode="reflect", x=IMAGE),
    layer("Conv2d", 4, 3, 3, padding=1, padding_mode="circular", x=IMAGE),
    layer("Conv2d", 4, 3, (2, 3), padding=(2, 1), padding_mode="replicate", x=IMAGE),
    layer("Conv2d", 4, 3, 3, padding="valid", x=(4, 7, 6)),
    layer("Conv3d", 2, 3, 2, stride=(1, 2, 1), padding=1, x=SOLID),
    layer("ConvTranspose1d", 4, 6, 4, stride=2, padding=1, output_padding=1, groups=2, x=SOUND),
    layer("ConvTranspose2d", 4, 6, 3, x=IMAGE),
    layer("ConvTranspose2d", 4, 6, (3, 2), stride=(2, 3), padding=(1, 0), output_padding=(1, 2), dilation=2, groups=2,
          x=IMAGE),
    layer("ConvTranspose2d", 4, 2, 3, stride=1, dilation=3, output_padding=2, bias=False, x=IMAGE),
    layer("ConvTranspose3d", 2, 3, 2, stride=2, x=SOLID),
    function("conv1d", SOUND, (3, 4, 2), (3,), stride=2),
    function("conv_transpose2d", IMAGE, (4, 3, 2, 2), (3,), stride=2),
    layer("Unfold", (2, 3), dilation=(2, 1), padding=1, stride=2, x=IMAGE),
    layer("Fold", (5, 6), (2, 3), padding=1, stride=2, x=(2, 12, 9)),
]  # fmt: skip

POOLING = [
    layer("MaxPool1d", 3, stride=2, padding=1, x=SOUND),
    layer("MaxPool2d", 2, x=IMAGE),
    layer("MaxPool2d", 3, stride=2, padding=1, dilation=1, ceil_mode=True, x=IMAGE),
    layer("MaxPool2d", (2, 3), stride=(1, 2), dilation=(2, 1), x=(4, 7, 6)),
    layer("MaxPool3d", 2, x=SOLID),
    layer("AvgPool1d", 3, stride=2, padding=1, x=SOUND),
    layer("AvgPool2d", 2, ceil_mode=True, x=IMAGE),
    layer("AvgPool2d", 3, stride=2, padding=1, ceil_mode=True, x=IMAGE),
    layer("AvgPool2d", 3, stride=2, padding=1, ceil_mode=True, count_include_pad=False, x=IMAGE),
    layer("AvgPool2d", (2, 3), divisor_override=5, x=IMAGE),
    layer("AvgPool3d", 2, padding=1, x=SOLID),
    layer("LPPool1d", 3, 2, x=("within", SOUND, 0.2, 2.0)),
    layer("LPPool2d", 2, 2, stride=1, x=IMAGE),
    layer("AdaptiveAvgPool1d", 4, x=SOUND),
    layer("AdaptiveAvgPool2d", (3, None), x=IMAGE),
    layer("AdaptiveAvgPool2d", 1, x=IMAGE),
    layer("AdaptiveAvgPool2d", (9, 4), x=IMAGE),
    layer("AdaptiveAvgPool3d", (2, 5, 2), x=SOLID),
    layer("AdaptiveMaxPool1d", 4, x=SOUND),
    layer("AdaptiveMaxPool2d", (3, 4), x=IMAGE),
    layer("AdaptiveMaxPool3d", 2, x=SOLID),
]

NORMALIZATION = [
    layer("BatchNorm1d", 4, x=SOUND),
    layer("BatchNorm1d", 5, momentum=0.3, eps=1e-3, x=(6, 5)),
    layer("BatchNorm2d", 4, x=IMAGE),
    eval_layer("BatchNorm2d", 4, x=IMAGE),
    layer("BatchNorm2d", 4, momentum=None, affine=False, x=IMAGE),
    eval_layer("BatchNorm2d", 4, track_running_stats=False, x=IMAGE),
    layer("BatchNorm3d", 2, x=SOLID),
    layer("InstanceNorm1d", 4, x=SOUND),
    layer("InstanceNorm2d", 4, affine=True, track_running_stats=True, x=IMAGE),
    eval_layer("InstanceNorm2d", 4, affine=True, track_running_stats=True, x=IMAGE),
    layer("InstanceNorm3d", 2, x=SOLID),
    layer("GroupNorm", 2, 4, x=IMAGE),
    layer("GroupNorm", 4, 4, affine=False, x=SOUND),
    layer("LayerNorm", 6, x=IMAGE),
    layer("LayerNorm", (7, 6), eps=1e-3, elementwise_affine=False, x=IMAGE),
    layer("RMSNorm", 6, x=IMAGE),
    layer("RMSNorm", (7, 6), eps=1e-2, x=IMAGE),
    function("normalize", (3, 4), p=3.0, dim=1),
]

RECURRENT = [
    layer("RNN", 3, 4, x=(5, 2, 3)),
    layer("RNN", 3, 4, num_layers=2, nonlinearity="relu", bias=False, bidirectional=True, x=(5, 2, 3)),
    layer("LSTM", 3, 4, x=(5, 3)),
    layer("LSTM", 3, 4, num_layers=2, batch_first=True, bidirectional=True, x=(2, 5, 3)),
    layer("GRU", 3, 4, num_layers=2, bidirectional=True, x=(5, 2, 3)),
    layer("GRU", 3, 4, bias=False, x=[(5, 2, 3), (1, 2, 4)]),
    layer("RNNCell", 3, 4, x=[(2, 3), (2, 4)]),
    layer("LSTMCell", 3, 4, x=(2, 3)),
    layer("GRUCell", 3, 4, x=[(2, 3), (2, 4)]),
]

ATTENTION = [
    function("scaled_dot_product_attention", (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7)),
    function("scaled_dot_product_attention", (2, 4, 5), (2, 4, 5), (2, 4, 3), is_causal=True, scale=0.3),
    function("scaled_dot_product_attention", (2, 4, 5), (2, 6, 5), (2, 6, 3), mask(4, 6)),
    layer("MultiheadAttention", 8, 2, x=[(5, 2, 8), (3, 2, 8), (3, 2, 8)]),
    layer("MultiheadAttention", 8, 4, bias=False, kdim=6, vdim=5, batch_first=True,
          x=[(2, 5, 8), (2, 3, 6), (2, 3, 5)]),
    layer("TransformerEncoderLayer", 8, 2, 16, dropout=0.0, batch_first=True, x=(2, 5, 8)),
    layer("TransformerEncoderLayer", 8, 2, 16, dropout=0.0, activation="gelu", norm_first=True, x=(5, 2, 8)),
    layer("TransformerDecoderLayer", 8, 2, 16, dropout=0.0, x=[(5, 2, 8), (3, 2, 8)]),
    layer("TransformerDecoderLayer", 8, 2, 16, dropout=0.0, norm_first=True, batch_first=True,
          x=[(2, 5, 8), (2, 3, 8)]),
]  # fmt: skip

RESIZING = [
    *(layer("Upsample", scale_factor=2, mode=m, x=IMAGE) for m in ("nearest", "bilinear", "bicubic", "nearest-exact")),
    *(layer("Upsample", size=(5, 11), mode=m, align_corners=True, x=IMAGE) for m in ("bilinear", "bicubic")),
    layer("Upsample", scale_factor=0.6, mode="bilinear", x=IMAGE),
    layer("Upsample", scale_factor=1.7, mode="nearest", x=IMAGE),
    layer("Upsample", size=13, mode="linear", x=SOUND),
    layer("Upsample", size=(3, 7, 5), mode="trilinear", x=SOLID),
    function("interpolate", IMAGE, size=(4, 4), mode="area"),
    layer("PixelShuffle", 2, x=(2, 8, 3, 2)),
    layer("PixelUnshuffle", 2, x=(2, 3, 4, 6)),
    layer("ConstantPad2d", (1, 2, 0, 3), 0.5, x=IMAGE),
    layer("ZeroPad2d", (1, -1, 2, 0), x=IMAGE),
    layer("ReflectionPad1d", (2, 1), x=SOUND),
    layer("ReflectionPad2d", (1, 2, 3, 0), x=IMAGE),
    layer("ReplicationPad2d", 2, x=IMAGE),
    layer("ReplicationPad3d", (1, 0, 2, 1, 0, 1), x=SOLID),
    layer("CircularPad2d", (1, 2, 0, 1), x=IMAGE),
]

PLAIN = (4, 5)
ACTIVATIONS = [
    *(layer(n, x=PLAIN) for n in ("ReLU", "Tanh", "Sigmoid", "SiLU", "Softplus", "GELU", "LeakyReLU", "ELU", "Softsign",
      "ReLU6", "Mish", "Hardsigmoid", "Hardswish", "LogSigmoid", "SELU", "Tanhshrink", "CELU", "Hardshrink",
      "Softshrink", "Hardtanh", "PReLU", "Identity")),
    layer("GELU", approximate="tanh", x=PLAIN),
    layer("GLU", x=(3, 6)),
    layer("GLU", dim=1, x=(3, 4, 2)),
    layer("CELU", alpha=0.7, x=PLAIN),
    layer("ELU", alpha=0.7, x=PLAIN),
    layer("Hardtanh", -0.4, 0.8, x=PLAIN),
    layer("Threshold", 0.1, -3.0, x=PLAIN),
    layer("PReLU", 5, x=PLAIN),
    layer("PReLU", 4, x=IMAGE),
    eval_layer("RReLU", x=PLAIN),
    layer("Softmax", dim=1, x=PLAIN),
    layer("LogSoftmax", dim=0, x=PLAIN),
    layer("Softmin", dim=1, x=PLAIN),
    function("softmin", PLAIN, dim=1),
    layer("Softmax2d", x=IMAGE),
]  # fmt: skip

OTHERS = [
    layer("Linear", 5, 3, x=PLAIN),
    layer("Bilinear", 4, 5, 3, x=[(2, 4), (2, 5)]),
    function("bilinear", (2, 4), (2, 5), (3, 4, 5)),
    layer("LocalResponseNorm", 3, alpha=0.1, beta=0.5, k=2.0, x=IMAGE),
    layer("LocalResponseNorm", 2, x=SOUND),
    layer("ChannelShuffle", 2, x=IMAGE),
    layer("UpsamplingBilinear2d", scale_factor=2, x=IMAGE),
    layer("UpsamplingNearest2d", size=(5, 9), x=IMAGE),
    layer("TripletMarginWithDistanceLoss", margin=0.5, swap=True, x=[(4, 5), (4, 5), (4, 5)]),
    layer("Embedding", 7, 3, x=labels((2, 5), 7)),
    layer("Embedding", 7, 3, padding_idx=2, x=labels((2, 9), 7)),
    layer("Embedding", 7, 3, max_norm=0.8, x=labels((2, 3), 7)),
    *(layer("EmbeddingBag", 7, 3, mode=m, x=labels((3, 4), 7)) for m in ("sum", "mean", "max")),
    layer("EmbeddingBag", 7, 3, mode="mean", padding_idx=1, x=labels((3, 4), 7)),
    layer("Flatten", x=IMAGE),
    layer("Unflatten", 1, (2, 2), x=IMAGE),
    layer("CosineSimilarity", x=[(3, 4), (3, 4)]),
    layer("PairwiseDistance", p=1.5, x=[(3, 4), (3, 4)]),
]

SAME = [(4, 5), (4, 5)]
LOSSES = [
    *(layer(n, reduction=r, x=SAME) for n in ("MSELoss", "L1Loss", "HuberLoss", "SmoothL1Loss")
      for r in ("mean", "sum", "none")),
    layer("HuberLoss", delta=0.3, x=SAME),
    layer("SmoothL1Loss", beta=0.3, x=SAME),
    *(layer("CrossEntropyLoss", reduction=r, x=[PLAIN, labels((4,), 5)]) for r in ("mean", "sum", "none")),
    layer("CrossEntropyLoss", label_smoothing=0.2, ignore_index=1, x=[PLAIN, labels((4,), 5)]),
    layer("CrossEntropyLoss", weight=("within", (5,), 0.5, 2.0), x=[PLAIN, labels((4,), 5)]),
    layer("CrossEntropyLoss", weight=("within", (5,), 0.5, 2.0), label_smoothing=0.2, x=[PLAIN, labels((4,), 5)]),
    layer("CrossEntropyLoss", x=[(2, 5, 3), labels((2, 3), 5)]),
    layer("CrossEntropyLoss", x=[PLAIN, ("shares", PLAIN)]),
    layer("NLLLoss", weight=("within", (5,), 0.5, 2.0), ignore_index=2, x=[logp(6, 5), labels((6,), 5)]),
    layer("NLLLoss", reduction="none", x=[logp(2, 5, 3), labels((2, 3), 5)]),
    layer("BCELoss", x=[within(PLAIN, 0.01, 0.99), within(PLAIN, 0.0, 1.0)]),
    layer("BCELoss", weight=("within", (5,), 0.5, 2.0), reduction="sum", x=[within(PLAIN, 0, 1), within(PLAIN, 0, 1)]),
    layer("BCEWithLogitsLoss", x=[PLAIN, within(PLAIN, 0.0, 1.0)]),
    layer("BCEWithLogitsLoss", pos_weight=("within", (5,), 0.5, 2.0), weight=("within", (5,), 0.5, 2.0),
          x=[PLAIN, within(PLAIN, 0.0, 1.0)]),
    *(layer("KLDivLoss", reduction=r, x=[logp(4, 5), ("shares", PLAIN)]) for r in ("batchmean", "sum")),
    layer("KLDivLoss", reduction="sum", log_target=True, x=[logp(4, 5), logp(4, 5)]),
    layer("PoissonNLLLoss", x=[PLAIN, within(PLAIN, 0, 4)]),
    layer("PoissonNLLLoss", log_input=False, full=True, x=[within(PLAIN, 0.1, 4), within(PLAIN, 0, 4)]),
    layer("GaussianNLLLoss", x=[PLAIN, PLAIN, within(PLAIN, 0.1, 2)]),
    layer("GaussianNLLLoss", full=True, reduction="sum", x=[PLAIN, PLAIN, within((4, 1), 0.1, 2)]),
    layer("HingeEmbeddingLoss", margin=0.7, x=[PLAIN, signs(4, 5)]),
    layer("MarginRankingLoss", margin=0.2, x=[(6,), (6,), signs(6)]),
    layer("SoftMarginLoss", x=[PLAIN, signs(4, 5)]),
    layer("CosineEmbeddingLoss", margin=0.1, x=[PLAIN, PLAIN, signs(4)]),
    layer("TripletMarginLoss", x=[PLAIN, PLAIN, PLAIN]),
    layer("TripletMarginLoss", margin=0.4, p=1.5, swap=True, reduction="sum", x=[PLAIN, PLAIN, PLAIN]),
    layer("MultiMarginLoss", x=[PLAIN, labels((4,), 5)]),
    layer("MultiMarginLoss", p=2, margin=0.6, weight=("within", (5,), 0.5, 2.0), x=[PLAIN, labels((4,), 5)]),
    layer("MultiLabelMarginLoss", x=[(2, 4), ("given", [[3, 0, -1, 1], [1, -1, 0, 2]])]),
    layer("MultiLabelSoftMarginLoss", x=[PLAIN, ("given", [[1.0, 0, 0, 1, 1]] * 4)]),
    *(layer("CTCLoss", reduction=r, x=[logp(8, 3, 5), ("given", [[1, 2, 2], [3, 4, 1], [2, 1, 1]]),
      ("given", [8, 6, 7]), ("given", [3, 2, 1])]) for r in ("mean", "sum", "none")),
    layer("CTCLoss", zero_infinity=True, reduction="none", x=[logp(2, 2, 5), ("given", [[1, 1, 1], [3, 4, 1]]),
          ("given", [2, 2]), ("given", [3, 1])]),
]  # fmt: skip

SETTINGS = [
    layer("BatchNorm2d", 4, bias=False, x=IMAGE),
    layer("InstanceNorm2d", 4, affine=True, bias=False, x=IMAGE),
    layer("GroupNorm", 2, 4, bias=False, x=IMAGE),
    layer("LSTM", 3, 5, proj_size=2, x=(5, 3)),
    layer("LSTM", 3, 5, num_layers=2, batch_first=True, bidirectional=True, proj_size=2, x=(2, 5, 3)),
    layer("MultiheadAttention", 8, 2, add_bias_kv=True, x=[(5, 2, 8), (3, 2, 8), (3, 2, 8)]),
    layer("MultiheadAttention", 8, 4, add_bias_kv=True, add_zero_attn=True, bias=False, batch_first=True,
          x=[(2, 5, 8), (2, 3, 8), (2, 3, 8)]),
    function("scaled_dot_product_attention", (2, 4, 3, 5), (2, 2, 6, 5), (2, 2, 6, 7), enable_gqa=True),
    layer("Softplus", beta=2.0, threshold=1.0, x=PLAIN),
    layer("Transformer", 8, 2, 1, 2, 16, dropout=0.0, x=[(5, 2, 8), (3, 2, 8)]),
    layer("Transformer", 8, 2, 2, 1, 16, dropout=0.0, activation="gelu", batch_first=True, norm_first=True,
          x=[(2, 5, 8), (2, 3, 8)]),
    layer("EmbeddingBag", 7, 3, mode="sum", max_norm=0.8, x=labels((3, 4), 7)),
    layer("EmbeddingBag", 7, 3, mode="mean", include_last_offset=True,
          x=[labels((8,), 7), ("given", [0, 2, 5, 8])]),
    function("pdist", (5, 3)),
    function("pdist", (4, 3), p=1.5),
    function("affine_grid", (2, 2, 3), size=(2, 1, 4, 3), align_corners=True),
    function("affine_grid", (2, 3, 4), size=(2, 1, 2, 4, 3), align_corners=False),
    *(function("grid_sample", IMAGE, within((2, 5, 3, 2), -1.4, 1.4), mode=m, padding_mode=p, align_corners=c)
      for m in ("bilinear", "bicubic") for p in ("zeros", "border", "reflection") for c in (False, True)),
    *(function("grid_sample", IMAGE, ("still", (2, 5, 3, 2), -1.4, 1.4), mode="nearest", padding_mode=p,
      align_corners=c) for p in ("zeros", "border", "reflection") for c in (False, True)),
    *(function("grid_sample", SOLID, within((1, 2, 3, 2, 3), -1.4, 1.4), padding_mode=p, align_corners=c)
      for p in ("zeros", "border", "reflection") for c in (False, True)),
    *(function(n, PLAIN, PLAIN, weight=within(PLAIN, 0.5, 2.0), reduction=r)
      for n in ("mse_loss", "l1_loss", "huber_loss")
      for r in ("mean", "sum")),
    function("embedding", labels((2, 9), 4), (4, 3), scale_grad_by_freq=True),
    *(function("interpolate", IMAGE, size=(3, 4), mode=m, antialias=True) for m in ("bilinear", "bicubic")),
    function("interpolate", IMAGE, size=(9, 4), mode="bilinear", antialias=True, align_corners=True),
    layer("AdaptiveLogSoftmaxWithLoss", 9, 12, [3, 5, 8], div_value=2.0, x=[(6, 9), labels((6,), 12)]),
    layer("AdaptiveLogSoftmaxWithLoss", 8, 9, [4], head_bias=True, x=[(8,), labels((), 9)]),
    function("fractional_max_pool2d", (2, 3, 7, 9), kernel_size=2, output_size=(4, 5), _random_samples=drawn(2, 3, 2)),
    function("fractional_max_pool2d", (3, 9, 8), kernel_size=(3, 2), output_ratio=(0.5, 0.7), return_indices=True,
             _random_samples=drawn(1, 3, 2)),
    function("fractional_max_pool3d", (2, 2, 7, 6, 9), kernel_size=(2, 1, 3), output_size=(3, 4, 1),
             _random_samples=drawn(2, 2, 3)),
    layer("FractionalMaxPool2d", 3, output_size=1, _random_samples=drawn(2, 3, 2), x=(2, 3, 7, 9)),
]  # fmt: skip

CASES = (
    CONVOLUTIONS + POOLING + NORMALIZATION + RECURRENT + ATTENTION + RESIZING + ACTIVATIONS + OTHERS + LOSSES + SETTINGS
)


def identifier(number, case):
    """A name of a case for tests and files."""
    return f"{number:03d}-{case['name'].removeprefix(F)}"


def array_of(kind, rng):
    """An array from what the table says of it."""
    if isinstance(kind[0], int):
        return rng.normal(size=kind)
    what, shape, *more = kind
    if what == "given":
        return np.array(shape)
    if what == "labels":
        return rng.integers(0, more[0], shape)
    if what in ("within", "still"):
        return rng.uniform(*more, shape)
    if what == "signs":
        return rng.choice([-1.0, 1.0], shape)
    if what == "mask":
        return rng.random(shape) < 0.7
    e = np.exp(rng.normal(size=shape))
    axis = 1 if len(shape) == 3 and what == "logp" and shape[1] == 5 else -1
    p = e / e.sum(axis=axis, keepdims=True)
    return np.log(p) if what == "logp" else p


def arrays_of(number, case):
    """The arrays of a case, and its settings with arrays in them."""
    rng = np.random.default_rng(number)
    arrays = [array_of(kind, rng) for kind in case["x"]]
    drawn = {k for k, v in case["options"].items() if isinstance(v, tuple) and v[0] == "within"}
    return arrays, {k: array_of(v, rng) if k in drawn else v for k, v in case["options"].items()}


def varies(kind):
    """Whether PyTorch differentiates by an array of this kind."""
    return kind[0] not in ("signs", "given", "labels", "mask", "still")


def state_of(number, shapes):
    """Values for parameters and buffers, by name."""
    rng = np.random.default_rng(1000 + number)
    state = {}
    for name in sorted(shapes):
        if name.endswith("num_batches_tracked"):
            state[name] = np.zeros((), np.int64)
        elif name.endswith("running_var"):
            state[name] = rng.uniform(0.5, 2.0, shapes[name])
        else:
            state[name] = 0.6 * rng.normal(size=shapes[name])
    return state


def cotangents(number, shapes):
    """What the results are multiplied by, for the gradient of their sum."""
    rng = np.random.default_rng(2000 + number)
    return [rng.normal(size=shape) for shape in shapes]


def leaves(result):
    """The arrays in a result."""
    if isinstance(result, tuple | list):
        return [x for part in result for x in leaves(part)]
    return [] if result is None else [result]


# -- Optimisers and schedules -------------------------------------------------------------------------

OPTIMISERS = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.05}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.05}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.05, "decoupled_weight_decay": True, "momentum_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.05}),
    ("RAdam", {"lr": 0.1, "betas": (0.8, 0.9), "decoupled_weight_decay": True, "weight_decay": 0.05}),
    ("RMSprop", {"lr": 0.1}),
    ("RMSprop", {"lr": 0.1, "centered": True, "momentum": 0.5, "weight_decay": 0.05, "alpha": 0.9}),
    ("Adagrad", {"lr": 0.3, "lr_decay": 0.1, "weight_decay": 0.05, "initial_accumulator_value": 0.2}),
    ("Adadelta", {"lr": 2.0, "weight_decay": 0.05}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.05}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.05, "decoupled_weight_decay": True}),
    ("ASGD", {"lr": 0.1, "lambd": 0.05, "weight_decay": 0.05, "t0": 3}),
    ("Rprop", {"lr": 0.1, "etas": (0.6, 1.3), "step_sizes": (0.05, 0.15)}),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.05, "d": 1.1}),
    ("Adafactor", {"lr": 0.4, "beta2_decay": -0.6, "eps": (1e-3, 0.2), "maximize": True}),
]
STEPS = 12

SCHEDULES = [
    ("StepLR", (3,), {"gamma": 0.5}),
    ("MultiStepLR", ([2, 5, 5],), {"gamma": 0.3}),
    ("ConstantLR", (), {"factor": 0.25, "total_iters": 4}),
    ("LinearLR", (), {"start_factor": 0.2, "end_factor": 0.9, "total_iters": 6}),
    ("ExponentialLR", (0.8,), {}),
    ("PolynomialLR", (), {"total_iters": 7, "power": 2.0}),
    ("CosineAnnealingLR", (5,), {"eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", (3,), {"T_mult": 2, "eta_min": 0.02}),
    ("OneCycleLR", (0.5,), {"total_steps": 24}),
    ("OneCycleLR", (0.5,), {"epochs": 6, "steps_per_epoch": 4, "anneal_strategy": "linear", "three_phase": True}),
    ("CyclicLR", (0.1, 0.4), {"step_size_up": 3, "step_size_down": 5}),
    ("CyclicLR", (0.1, 0.4), {"step_size_up": 3, "mode": "triangular2", "cycle_momentum": False}),
    ("CyclicLR", (0.1, 0.4), {"step_size_up": 4, "mode": "exp_range", "gamma": 0.9}),
    ("LambdaLR", (lambda epoch: 1 / (1 + epoch),), {}),
    ("MultiplicativeLR", (lambda epoch: 0.9,), {}),
]
EPOCHS = 20
FIGURES = [5.0, 4.0, 4.5, 4.2, 3.9999, 4.1, 4.3, 4.4, 3.0, 3.1, 3.1, 3.1, 3.1, 3.1, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]
PLATEAUS = [
    {"patience": 2, "factor": 0.5},
    {"patience": 1, "cooldown": 2, "threshold": 0.5, "threshold_mode": "abs", "min_lr": 0.03},
    {"patience": 1, "mode": "max"},
]


SWA_RATES = [
    (0.05, {"anneal_epochs": 5}),
    ([0.05, 0.5], {"anneal_epochs": 4, "anneal_strategy": "linear"}),
    (0.05, {"anneal_epochs": 0}),
]
ORTHOGONAL = [
    ((4, 4), None, True),
    ((5, 3), None, True),
    ((3, 5), None, True),
    ((5, 3), "cayley", True),
    ((3, 5), "cayley", False),
    ((5, 3), "matrix_exp", True),
    ((5, 3), "matrix_exp", False),
    ((3, 5), "householder", False),
    ((2, 4, 3), "householder", True),
    ((2, 3, 4), "cayley", True),
]
AVERAGES = [{}, {"use_buffers": True}, {"avg_fn": 0.9}, {"multi_avg_fn": 0.7, "use_buffers": True}]


def swa_rates(swa, optimizer, last, options):
    """The learning rates of two groups, while something else changes them too."""
    schedule = swa(optimizer, last, **options)
    found = []
    for epoch in range(8):
        found.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
        if epoch == 2:
            optimizer.param_groups[0]["lr"] *= 1.5
    return found


def averaged(swa_utils, model, batches, options):
    """The state of an average, after some updates and a run through the data."""
    ways = {"avg_fn": swa_utils.get_ema_avg_fn, "multi_avg_fn": swa_utils.get_ema_multi_avg_fn}
    average = swa_utils.AveragedModel(
        model, **{name: ways[name](value) if name in ways else value for name, value in options.items()}
    )
    for x in batches:
        model(x)
        for p in model.parameters():
            p.data[...] = p.data * 1.5 - 0.25
        average.update_parameters(model)
    states = [{name: np.array(v) for name, v in average.state_dict().items()}]
    swa_utils.update_bn([(x, None) for x in batches], average)
    return [*states, {name: np.array(v) for name, v in average.state_dict().items()}]


def rates(schedulers, optimizer, which, args, options):
    """The learning rates of the epochs under a schedule."""
    schedule = getattr(schedulers, which)(optimizer, *args, **options)
    found = []
    for _ in range(EPOCHS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def composed(schedulers, optimizer, chained):
    """The same under several: one after another, or all at once."""
    parts = [schedulers.LinearLR(optimizer, start_factor=0.1, total_iters=4), schedulers.ExponentialLR(optimizer, 0.9),
             schedulers.CosineAnnealingLR(optimizer, 5)]  # fmt: skip
    schedule = (
        schedulers.ChainedScheduler(parts[:2])
        if chained
        else schedulers.SequentialLR(optimizer, parts, milestones=[5, 11])
    )
    found = []
    for _ in range(EPOCHS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


def plateau(schedulers, optimizer, options):
    """The same where a figure decides."""
    schedule = schedulers.ReduceLROnPlateau(optimizer, **options)
    found = []
    for figure in FIGURES:
        optimizer.step()
        schedule.step(figure)
        found.append(optimizer.param_groups[0]["lr"])
    return found


def start_of_training():
    """A matrix and a vector, and the gradients of their steps."""
    rng = np.random.default_rng(7)
    return [rng.normal(size=(3, 2)), rng.normal(size=4)], [
        [rng.normal(size=(3, 2)), rng.normal(size=4)] for _ in range(STEPS)
    ]
