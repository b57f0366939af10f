"""Networks of whole layers: convolutions, an LSTM, a GRU, attention; forward and backward for all parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Layers"
ABOUT = "The same layers by the same names, float32; forward, and backward from the sum of squares, for all parameters."


def convolutions(nn: Any, options: dict[str, Any], width: int) -> Any:
    return nn.Sequential(
        *(nn.Conv2d(1, width, 3, padding=1, **options), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(width, 2 * width, 3, padding=1, **options), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(2 * width * 49, 10, **options)),
    )


def recurrent(nn: Any, options: dict[str, Any], width: int) -> Any:
    return nn.LSTM(width // 2, width, **options)


def gated(nn: Any, options: dict[str, Any], width: int) -> Any:
    return nn.GRU(width // 2, width, **options)


def attention(nn: Any, options: dict[str, Any], width: int) -> Any:
    return nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, **options)


def _ours(build: Callable[..., Any], width: int) -> Any:
    return build(load("adjoint").nn, {"rng": 0, "dtype": np.float32}, width)


def _first(out: Any) -> Any:
    return out[0] if isinstance(out, tuple) else out


def _step(net: Any, x: Any) -> Call:
    def step() -> Any:
        net.zero_grad()
        out = _first(net(x))
        (out * out).sum().backward()
        return [p.grad for p in net.parameters()]

    return step


def with_adjoint(build: Callable[..., Any], width: int, x: np.ndarray) -> Call:
    return _step(_ours(build, width), x)


def with_compile(build: Callable[..., Any], width: int, x: np.ndarray) -> Call:
    step: Call = load("adjoint").compile(_step(_ours(build, width), x), wait=True)
    return step


def with_torch(build: Callable[..., Any], width: int, x: np.ndarray) -> Call:
    torch = load("torch")
    net = build(torch.nn, {}, width)
    state = _ours(build, width).state_dict()
    net.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()})
    return _step(net, torch.from_numpy(x))


EVERYONE = everyone(globals())


def cases(small: bool = False) -> Iterator[Case]:
    """One row a network; the budgets are those of one thread."""
    rng = np.random.default_rng(0)
    rows = (
        ("convolutions", convolutions, 2 if small else 16, (2 if small else 64, 1, 28, 28), 1.5),
        ("LSTM, 50 steps", recurrent, 8 if small else 128, (3, 2, 4) if small else (50, 32, 64), 1.2),
        ("GRU, 50 steps", gated, 8 if small else 128, (3, 2, 4) if small else (50, 32, 64), 1.2),
        ("attention block", attention, 8 if small else 128, (2, 3, 8) if small else (8, 64, 128), 1.2),
    )
    for name, build, width, shape, limit in rows:
        x = rng.standard_normal(shape).astype(np.float32)
        yield Case(name, programs(EVERYONE, build, width, x), budgets=(Budget("PyTorch", limit),))
