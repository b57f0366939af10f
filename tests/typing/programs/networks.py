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
