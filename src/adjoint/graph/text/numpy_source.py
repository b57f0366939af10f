"""How an operation is written as NumPy: one table of templates, and the numbers and indices that go into them.

A template computes the same as the operation's ``forward``, bit for bit; a test compares both on the registry's sample
calls. An operation without a template is written as the function it stands for (`Op.answers`), or else as a call of
its ``forward`` by name.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from adjoint.core.errors import NotSupportedError
from adjoint.core.op import Op
from adjoint.core.types import Array, DType, Index, Settings, Value
from adjoint.ops.indexing.index import together

Args = Sequence[str]
Shapes = Sequence[tuple[int, ...]]

INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "matmul": "@",
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip

# {0}, {1} … are the arguments, {*} all of them; {axis} a setting; {axis=} " , axis=…" where it is not the default.
_REDUCTION = "({0}{axis=}{keepdims=})"
_SYMMETRIC = "({0} + np.conj(np.swapaxes({0}, -1, -2))) / 2"
TEMPLATES = {
    "affine": "{0} @ {1}.T + {2}",
    "between": "np.minimum(np.maximum({0}, {1}), {2})",
    "choose_either": "np.where({0}, {1}, {2})",
    "clamp_between": "np.minimum(np.maximum({0}, {1}), {2})",
    "conj": "np.conj({0})",
    "copy": "np.copy({0})",
    "astype": "{0}.astype({dtype})",
    "broadcast_to": "np.broadcast_to({0}, {shape})",
    "reshape": "np.reshape({0}, {shape}{order=})",
    "transpose": "np.transpose({0}{axes=})",
    "matrix_transpose": "np.matrix_transpose({0})",
    "diagonal": "np.diagonal({0}{offset=}{axis1=}{axis2=})",
    "swapaxes": "np.swapaxes({0}, {axis1}, {axis2})",
    "moveaxis": "np.moveaxis({0}, {source}, {destination})",
    "expand_dims": "np.expand_dims({0}, {axis})",
    "tile": "np.tile({0}, {reps})",
    "repeat_each": "np.repeat({0}, {repeats}{axis=})",
    "roll": "np.roll({0}, {shift}{axis=})",
    "rot90": "np.rot90({0}, {k}, {axes})",
    "convolve_full": "np.convolve({0}, {1})",
    "join": "np.concatenate([{*}]{axis=})",
    "pile": "np.stack([{*}]{axis=})",
    "pad_zeros": "np.pad({0}, {widths})",
    "name": "{0}[...]",
    "rounded": "np.round({0}{decimals=})",
    "fourier": "np.fft.fft({0}{axis=}{norm=})",
    "inverse_fourier": "np.fft.ifft({0}{axis=}{norm=})",
    "half_spectrum": "np.fft.rfft({0}{axis=}{norm=})",
    "from_half_spectrum": "np.fft.irfft({0}, {n}, {axis}, {norm})",
    "inv": "np.linalg.inv({0})",
    "stacked_det": "np.linalg.det({0})",
    "stacked_solve": "np.linalg.solve({0}, {1})",
    "sign_and_logdet": "np.linalg.slogdet({0})",
    "cholesky_factor": f"np.linalg.cholesky({_SYMMETRIC})",
    "symmetric_eigen": f"np.linalg.eigh({_SYMMETRIC}, {{uplo}})",
    "symmetric_eigenvalues": f"np.linalg.eigvalsh({_SYMMETRIC}, {{uplo}})",
    "eigen": "np.linalg.eig({0})",
    "tall_qr": "np.linalg.qr({0})",
    "thin_svd": "np.linalg.svd({0}, full_matrices=False)",
    "singular_values": "np.linalg.svd({0}, compute_uv=False)",
    "pseudo_inverse": "np.linalg.pinv({0}, rcond={rcond}{hermitian=})",
    "p_norm": "np.linalg.vector_norm({0}, ord={ord}{axis=}{keepdims=})",
    "flip": "np.flip({0}{axis=})",
    "squeeze": "np.squeeze({0}{axis=})",
    "tril": "np.tril({0}{k=})",
    "triu": "np.triu({0}{k=})",
    "real": "np.real({0})",
    "imag": "np.imag({0})",
    "sort_along": "np.sort({0}, axis={axis}{kind=})",
    "standardize": "({0} - np.mean({0}, axis={axis}, keepdims=True)) / np.sqrt(np.mean("
    "np.square({0} - np.mean({0}, axis={axis}, keepdims=True)), axis={axis}, keepdims=True) + {eps})",
    "running_sum": "np.cumsum({0}, axis={axis})",
    "running_product": "np.cumprod({0}, axis={axis})",
    "running_max": "np.maximum.accumulate({0}, axis={axis})",
    "running_min": "np.minimum.accumulate({0}, axis={axis})",
    "running_logsumexp": "np.logaddexp.accumulate({0}, axis={axis})",
    "relu": "np.maximum({0}, 0)",
    "relu6": "np.minimum(np.maximum({0}, 0), 6)",
    "sigmoid": "np.exp(np.minimum({0}, 0.0)) / (1 + np.exp(0.0 - np.abs({0})))",
    "silu": "{0} * (np.exp(np.minimum({0}, 0.0)) / (1 + np.exp(0.0 - np.abs({0}))))",
    "softplus": "np.logaddexp({0}, 0)",
    "softsign": "{0} / (1 + np.abs({0}))",
    "prelu": "np.where({0} > 0, {0}, {0} * {1})",
    "exponential_unit": "np.where({0} > 0, {0}, {1} * np.expm1(np.minimum({0}, 0)))",
    "huber_cost": "np.where(np.abs({0}) <= {1}, 0.5 * {0} * {0}, {1} * (np.abs({0}) - 0.5 * {1}))",
    "reduce_var": f"np.var{_REDUCTION[:-1]}{{ddof=}})",
    "reduce_std": f"np.std{_REDUCTION[:-1]}{{ddof=}})",
    "reduce_sum": f"np.sum{_REDUCTION}",
    "reduce_prod": f"np.prod{_REDUCTION}",
    "reduce_max": f"np.max{_REDUCTION}",
    "reduce_min": f"np.min{_REDUCTION}",
    "reduce_mean": f"np.mean{_REDUCTION}",
}  # fmt: skip


def literal(value: object) -> str:
    """Text that Python reads as `value`: numbers bit for bit, arrays too.

    Raises:
        NotSupportedError: for objects that have no such text, such as functions.
    """
    if isinstance(value, np.dtype):
        return f"np.{value.name}" if hasattr(np, value.name) else f"np.dtype({value.str!r})"
    if isinstance(value, type) and issubclass(value, np.generic):
        return f"np.{value.__name__}"
    if isinstance(value, np.ndarray | np.generic):
        return _array(value)
    if isinstance(value, tuple | list):
        inside = ", ".join(map(literal, value)) + "," * (isinstance(value, tuple) and len(value) == 1)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, float | complex):
        return _number(value)
    if isinstance(value, slice):
        return f"slice({literal(value.start)}, {literal(value.stop)}, {literal(value.step)})"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if value is ...:
        return "..."
    raise NotSupportedError(f"a setting of kind {type(value).__name__} cannot be written as source: {value!r}")


def _number(value: float | complex) -> str:
    if isinstance(value, complex):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    names = {"nan": "np.nan", "inf": "np.inf", "-inf": "-np.inf"}
    return names.get(repr(value), repr(value))


def _array(array: Array) -> str:
    """One value as ``np.full``, a few as a list, many as their bytes."""
    dtype = literal(array.dtype)
    if not isinstance(array, np.ndarray):
        text = f"{dtype}({literal(array.item())})" if array.dtype.kind in "fciub" else ""
    elif array.size and array.ndim and array.tobytes() == array.flat[0].tobytes() * array.size:
        text = f"np.full({array.shape}, {literal(array.flat[0].item())}, {dtype})"
        text = text if array.flat[0] or np.signbit(array.real.flat[0]) else f"np.zeros({array.shape}, {dtype})"
        text = f"np.ones({array.shape}, {dtype})" if array.flat[0] == 1 else text
    else:
        text = f"np.array({literal(array.tolist())}, {dtype})" if 0 < array.size <= 32 else ""
    if text and eval(text, {"np": np}).tobytes() == array.tobytes():  # the text is ours: nan has many forms, say
        return text
    return f"np.frombuffer(bytes.fromhex('{array.tobytes().hex()}'), {dtype}).reshape({array.shape})" + "[()]" * (
        not isinstance(array, np.ndarray)
    )


def index_text(index: Index, name: Callable[[Value], str] = literal) -> str:
    """The text between the brackets of ``a[…]``."""
    parts = index if isinstance(index, tuple) else (index,)
    written = [_slice(p) if isinstance(p, slice) else name(p) for p in parts]
    return ", ".join(written) + "," * (isinstance(index, tuple) and len(parts) == 1) if parts else "()"


def _slice(s: slice) -> str:
    start, stop, step = ("" if x is None else literal(x) for x in (s.start, s.stop, s.step))
    return f"{start}:{stop}" + (f":{step}" if step else "")


def spelled(
    op: Op,
    args: Sequence[str],
    settings: Settings,
    result: str,
    dtype: DType,
    shapes: Sequence[tuple[int, ...]],
    plain: Sequence[bool],
) -> list[str]:
    """The lines that compute `op`, and put what it gives into the variable `result`.

    Args:
        op: the operation.
        args: the text of each argument.
        settings: its settings.
        result: a name.
        dtype: of the result.
        shapes: of the arguments.
        plain: which arguments may be numbers of Python's, on which its operators do other things than NumPy's
            functions (they raise, and promote otherwise).
    """
    lines = _STATEMENTS.get(op.name)
    if lines is not None:
        return lines(args, settings, result, dtype, shapes)
    return [f"{result} = {_call(op, args, settings, all(plain))}"]


def _call(op: Op, args: Sequence[str], settings: Settings, plain: bool) -> str:
    if op.name in INFIX and not plain:
        return f"{args[0]} {INFIX[op.name]} {args[1]}"
    if op.name == "negative" and not plain:
        return f"-{args[0]}"
    if op.name == "getitem":
        return f"{args[0]}[{index_text(settings['index'])}]"
    if op.name == "pick":
        return f"{args[0]}[{index_text(together(settings['form'], args[1:]), _part)}]"
    if op.name in TEMPLATES and (not plain or "np." in TEMPLATES[op.name]):
        return _filled(TEMPLATES[op.name], op, args, settings)
    if op.name == "euclidean_norm":
        if settings["axis"] is None and not settings["keepdims"]:
            return f"np.linalg.norm({args[0]})"
        return _filled("np.linalg.vector_norm({0}{axis=}{keepdims=})", op, args, settings)
    given = ", ".join([*args, *(f"{k}={literal(v)}" for k, v in settings.items() if _differs(op, k, v))])
    path = path_of(op)
    if path:
        return f"{path}({given})"
    given = ", ".join([*args, *(f"{k}={literal(v)}" for k, v in settings.items())])
    return f"operation({op.name!r}).forward({given})"


def path_of(op: Op) -> str:
    """``np.sin`` for an operation that is this function of NumPy's or SciPy's; empty for one of our own."""
    if not op.answers:
        return ""
    function = op.answers[0]
    name = getattr(function, "__name__", "")
    if op.forward is not function and op.kind != "constant":
        return "np.sinc" if op.name == "sinc" else ""
    if getattr(np, name, None) is function:
        return f"np.{name}"
    if getattr(np.linalg, name, None) is function:
        return f"np.linalg.{name}"
    if isinstance(function, np.ufunc):
        import scipy.special

        if getattr(scipy.special, name, None) is function:
            return f"scipy.special.{name}"
    return ""


def _part(part: object) -> str:
    return part if isinstance(part, str) else literal(part)


def _differs(op: Op, name: str, value: object) -> bool:
    default = op.settings.get(name)
    return not (value is default or (type(value) is type(default) and literal(value) == literal(default)))


def _filled(template: str, op: Op, args: Sequence[str], settings: Settings) -> str:
    text = template.replace("{*}", ", ".join(args))
    for i, arg in enumerate(args):
        text = text.replace(f"{{{i}}}", arg)
    for name, value in settings.items():
        said = f", {name}={literal(value)}" if f"{{{name}=}}" in text and _differs(op, name, value) else ""
        text = text.replace(f"{{{name}=}}", said)
        if f"{{{name}}}" in text:
            text = text.replace(f"{{{name}}}", literal(value))
    return text


def _scatter(args: Args, settings: Settings, result: str, dtype: DType, shapes: Shapes) -> list[str]:
    places = args[1:]
    if places:  # `place_at`, whose index is made of its other arguments
        index, repeats = index_text(together(settings["form"], places), _part), True
    else:
        index, repeats = index_text(settings["index"]), settings["repeats"]
    whole = index if not places and isinstance(settings["index"], np.ndarray) else f"np.index_exp[{index}]"
    start = f"{result} = np.zeros({literal(settings['shape'])}, {literal(dtype)})"
    if repeats:
        return [start, f"np.add.at({result}, {whole}, {args[0]})"]
    return [start, f"{result}[{index}] += {args[0]}"]


def _overwrite(args: Args, settings: Settings, result: str, dtype: DType, shapes: Shapes) -> list[str]:
    value, a = args
    path, index = list(settings["path"]), settings["index"]
    if index is ... and path and path[-1][0].name == "getitem":
        index = path.pop()[1]["index"]
    where = "".join(
        f"[{index_text(own['index'])}]" if op.name == "getitem" else f".{_VIEWS[op.name].format(**_texts(own))}"
        for op, own in path
        if op.name == "getitem" or op.name in _VIEWS
    )
    if not all(op.name in _VIEWS or op.name == "getitem" for op, _ in path):
        paths = ", ".join(f"(operation({op.name!r}), {_dictionary(own)})" for op, own in settings["path"])
        call = f"operation('overwrite').forward({value}, {a}, path=({paths},), index={literal(settings['index'])})"
        return [f"{result} = {call}"]
    return [f"{result} = np.array({a})", f"{result}{where}[{index_text(index)}] = {value}"]


_VIEWS = {"transpose": "transpose({axes})", "matrix_transpose": "mT", "swapaxes": "swapaxes({axis1}, {axis2})"}


def _texts(settings: Settings) -> dict[str, str]:
    return {name: literal(value) for name, value in settings.items()}


def _dictionary(settings: Settings) -> str:
    return "{" + ", ".join(f"{name!r}: {literal(value)}" for name, value in settings.items()) + "}"


def _gate(args: Args, settings: Settings, result: str, dtype: DType, shapes: Shapes) -> list[str]:
    x, y = args
    if math.prod(shapes[0]) <= 2048:
        return [f"{result} = np.where({y} > 0, {x}, 0.0)"]
    chosen = f"{result} if np.isfinite(np.sum({result})) else np.where({y} > 0, {x}, 0.0)"
    return [f"{result} = {x} * ({y} > 0)", f"{result} = {chosen}"]


def _softmax(args: Args, settings: Settings, result: str, dtype: DType, shapes: Shapes) -> list[str]:
    (a,), axis = args, f"axis={literal(settings['axis'])}, keepdims=True"
    return [f"{result} = np.exp({a} - np.max({a}, {axis}))", f"{result} = {result} / np.sum({result}, {axis})"]


def _log_softmax(args: Args, settings: Settings, result: str, dtype: DType, shapes: Shapes) -> list[str]:
    (a,), axis = args, f"axis={literal(settings['axis'])}, keepdims=True"
    return [f"{result} = {a} - np.max({a}, {axis})", f"{result} = {result} - np.log(np.sum(np.exp({result}), {axis}))"]


def _likelihood(args: Args, settings: Settings, result: str, dtype: DType, shapes: Shapes) -> list[str]:
    a, labels = args
    at = (
        f"*np.indices({shapes[1]}, sparse=True), {labels}"
        if len(shapes[1]) > 1
        else f"np.arange({shapes[0][0]}), {labels}"
    )
    at = at if shapes[1] else labels
    loss = f"np.log(np.sum(np.exp({result}), axis=-1)) - {result}[{at}]"
    return [
        f"{result} = {a} - np.max({a}, axis=-1, keepdims=True)",
        f"{result} = {f'np.mean({loss})' if settings['mean'] else loss}",
    ]


_STATEMENTS: dict[str, Callable[[Args, Settings, str, Value, Shapes], list[str]]] = {
    "gate": _gate,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "negative_log_likelihood": _likelihood,
    "scatter_add": _scatter,
    "place_at": _scatter,
    "overwrite": _overwrite,
}
