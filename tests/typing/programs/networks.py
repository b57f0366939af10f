"""Layers with their settings, losses, data, clipping: words and kinds of arguments."""

from typing import assert_type

import numpy as np

import adjoint as ad
from adjoint import nn, optim

network = nn.Sequential(
    nn.Conv2d(1, 4, 3, stride=(1, 2), padding="same"),
    nn.BatchNorm2d(4),
    nn.ReLU(),
    nn.MaxPool2d(2, stride=2),
    nn.AdaptiveAvgPool2d((None, 1)),
    nn.Flatten(),
    nn.Linear(4, 2),
)
out, state = nn.LSTM(3, 5, num_layers=2, bidirectional=True)(np.ones((7, 2, 3)))
nn.functional.max_pool2d(np.ones((1, 1, 4, 4)), 2, stride=(2, 1))
loader = ad.data.DataLoader(np.arange(6), batch_size=2, shuffle=True, seed=0)
assert_type(optim.clip_grad_norm(network.parameters(), 1.0), float)
assert_type(len(loader), int)
for inputs, labels in loader:
    nn.cross_entropy(network(inputs), labels)
t = ad.tensor([1.0, 2.0], requires_grad=True)


class Net(nn.Module):
    def __init__(self) -> None:
        self.first, self.second = nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Dropout(0.1))

    def forward(self, x: ad.Tensor, twice: bool = False) -> tuple[ad.Tensor, int]:
        out = self.second(self.first(x))
        return (out * 2 if twice else out), 2


assert_type(network(t), ad.Tensor)
assert_type(nn.Linear(3, 4)(np.ones(3)), ad.Tensor)
assert_type(nn.LSTM(3, 5)(np.ones((7, 3))), tuple[ad.Tensor, tuple[ad.Tensor, ad.Tensor]])
assert_type(nn.GRUCell(3, 4)(np.ones(3)), ad.Tensor)
assert_type(nn.MSELoss()(t, t), ad.Tensor)
assert_type(Net()(t, twice=True), tuple[ad.Tensor, int])
for module in (*network, Net()):
    module(t)
network(t).backward()
network(t).backwards()  # expected: attr-defined
Net()(t, thrice=True)  # expected: call-arg
Net()("t")  # expected: arg-type
t.sum(axis=0, keepdims=True).backward()
assert_type(t.is_leaf, bool)

nn.Conv2d(1, 4, "3")  # expected: arg-type
nn.Conv2d(1, 4, 3, strides=2)  # expected: call-arg
nn.MaxPool2d(2, stride=0.5)  # expected: arg-type
nn.AdaptiveAvgPool2d("one")  # expected: arg-type
nn.LSTM(3)  # expected: call-arg
nn.functional.max_pool2d(np.ones((1, 1, 4, 4)), kernel="2")  # expected: call-arg
nn.mse_loss(out)  # expected: call-arg
nn.NoSuchLayer(3)  # expected: attr-defined
ad.data.DataLoader(np.arange(6), batch_size="2")  # expected: arg-type
optim.clip_grad_norm(network.parameters())  # expected: call-arg
t.backward(retain="yes")  # expected: call-arg
t.sum(along=0)  # expected: call-arg
t.summ()  # expected: attr-defined
ad.tensor([1.0], require_grad=True)  # expected: call-arg
