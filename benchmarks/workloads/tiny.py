"""Training steps of tiny nets: what each operation costs where arrays are small."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Budget, Call, Case, programs
from benchmarks.peers import everyone, load

TITLE = "Tiny nets, eager"
ABOUT = (
    "The same layers by the same names, float32, batches of 8: zero_grad, forward, loss, backward and the optimizer's "
    "step; time per step."
)

RATE = 1e-7  # so small that the thousandth step meets the same numbers as the first
LIMIT = 0.6
_SETTINGS: dict[str, Any] = {"rng": 0, "dtype": np.float32}


class Pair:
    """A net, and what calls it: ``call(net, x)``."""

    def __init__(self, net: Any, call: Callable[[Any, Any], Any] = lambda net, x: net(x)) -> None:
        self.net, self.call = net, call


def convolutions(nn: Any, o: dict[str, Any]) -> Pair:
    first = (nn.Conv2d(1, 4, 3, padding=1, **o), nn.ReLU(), nn.MaxPool2d(2))
    second = (nn.Conv2d(4, 8, 3, padding=1, **o), nn.ReLU(), nn.MaxPool2d(2))
    return Pair(nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(32, 3, **o)))


def normalized(nn: Any, o: dict[str, Any]) -> Pair:
    norm = nn.BatchNorm2d(4, **_dtype(o))
    first = (nn.Conv2d(1, 4, 3, padding=1, **o), norm, nn.ReLU(), nn.MaxPool2d(2))
    return Pair(nn.Sequential(*first, nn.Flatten(), nn.Linear(64, 3, **o)))


def perceptron(nn: Any, o: dict[str, Any]) -> Pair:
    return Pair(nn.Sequential(nn.Linear(4, 16, **o), nn.ReLU(), nn.Linear(16, 3, **o)))


def batch_norm(nn: Any, o: dict[str, Any]) -> Pair:
    norm = nn.BatchNorm1d(16, **_dtype(o))
    return Pair(nn.Sequential(nn.Linear(4, 16, **o), norm, nn.ReLU(), nn.Linear(16, 3, **o)))


def layer_norm(nn: Any, o: dict[str, Any]) -> Pair:
    norm = nn.LayerNorm(16, **_dtype(o))
    return Pair(nn.Sequential(nn.Linear(4, 16, **o), norm, nn.ReLU(), nn.Linear(16, 3, **o)))


def embedding(nn: Any, o: dict[str, Any]) -> Pair:
    return Pair(nn.Sequential(nn.Embedding(20, 8, **o), nn.Flatten(), nn.Linear(40, 3, **o)))


def lstm_cell(nn: Any, o: dict[str, Any]) -> Pair:
    def call(net: Any, x: Any) -> Any:
        state = None
        for k in range(len(x)):
            state = net[0](x[k], state)
        return net[1](state[0])

    return Pair(nn.ModuleList([nn.LSTMCell(4, 8, **o), nn.Linear(8, 3, **o)]), call)


def gru_cell(nn: Any, o: dict[str, Any]) -> Pair:
    def call(net: Any, x: Any) -> Any:
        state = None
        for k in range(len(x)):
            state = net[0](x[k], state)
        return net[1](state)

    return Pair(nn.ModuleList([nn.GRUCell(4, 8, **o), nn.Linear(8, 3, **o)]), call)


def _layer(kind: str) -> Callable[..., Pair]:
    def build(nn: Any, o: dict[str, Any]) -> Pair:
        net = nn.ModuleList([getattr(nn, kind)(4, 8, **o), nn.Linear(8, 3, **o)])
        return Pair(net, lambda net, x: net[1](net[0](x)[0][-1]))

    return build


def transformer(nn: Any, o: dict[str, Any]) -> Pair:
    net = nn.ModuleList(
        [nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, **o), nn.Linear(8, 3, **o)]
    )
    return Pair(net, lambda net, x: net[1](net[0](x)[:, 0]))


def _dtype(o: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in o.items() if name == "dtype"}


def _step(pair: Pair, loss: Callable[..., Any], rule: Callable[..., Any], x: Any, labels: Any) -> Call:
    parameters = list(pair.net.parameters())
    optimizer = rule(parameters, lr=RATE)

    def step() -> Any:
        optimizer.zero_grad()
        loss(pair.call(pair.net, x), labels).backward()
        optimizer.step()
        return [p.grad for p in parameters]

    return step


def with_adjoint(build: Callable[..., Pair], x: np.ndarray, labels: np.ndarray, optimizer: str) -> Call:
    ad = load("adjoint")
    return _step(build(ad.nn, _SETTINGS), ad.nn.functional.cross_entropy, getattr(ad.optim, optimizer), x, labels)


def with_torch(build: Callable[..., Pair], x: np.ndarray, labels: np.ndarray, optimizer: str) -> Call:
    torch = load("torch")
    pair = build(torch.nn, {})
    state = build(load("adjoint").nn, _SETTINGS).net.state_dict()
    pair.net.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()})
    given = (torch.from_numpy(x), torch.from_numpy(labels))
    return _step(pair, torch.nn.functional.cross_entropy, getattr(torch.optim, optimizer), *given)


EVERYONE = everyone(globals())


def cases(small: bool = False) -> Iterator[Case]:
    """One row a net; they are small as they are."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 8)
    shapes = {"image": (8, 1, 8, 8), "row": (8, 4), "time": (5, 8, 4), "sequence": (8, 5, 8)}
    given = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    given["words"] = rng.integers(0, 20, (8, 5))
    rows: tuple[tuple[str, Callable[..., Pair], str, str], ...] = (
        ("convolutions of 8 by 8, 4 and 8 channels", convolutions, "image", "SGD"),
        ("the same convolutions, Adam", convolutions, "image", "Adam"),
        ("convolution, batch norm, pooling", normalized, "image", "SGD"),
        ("MLP 4-16-3", perceptron, "row", "SGD"),
        ("the same MLP, Adam", perceptron, "row", "Adam"),
        ("MLP with batch norm", batch_norm, "row", "SGD"),
        ("MLP with layer norm", layer_norm, "row", "SGD"),
        ("embedding", embedding, "words", "SGD"),
        ("LSTM cell, 5 steps", lstm_cell, "time", "SGD"),
        ("GRU cell, 5 steps", gru_cell, "time", "SGD"),
        ("LSTM layer, 5 steps", _layer("LSTM"), "time", "SGD"),
        ("GRU layer, 5 steps", _layer("GRU"), "time", "SGD"),
        ("RNN layer, 5 steps", _layer("RNN"), "time", "SGD"),
        ("transformer layer", transformer, "sequence", "SGD"),
    )
    for name, build, kind, optimizer in rows:
        yield Case(name, programs(EVERYONE, build, given[kind], labels, optimizer), budgets=(Budget("PyTorch", LIMIT),))
