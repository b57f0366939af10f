"""Tensors have NumPy's methods and operators, and these give tensors."""

from typing import assert_type

import numpy as np

import adjoint as ad

t = ad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
assert_type(t.sum(), ad.Tensor)
assert_type(t.mean(axis=0, keepdims=True), ad.Tensor)
assert_type(t.exp().squeeze().reshape(-1), ad.Tensor)
assert_type(t.T @ t - 2 * t / 3, ad.Tensor)
assert_type(t[0, 1:], ad.Tensor)
assert_type(t > 1, ad.Tensor)
assert_type(t.std(ddof=1), ad.Tensor)
assert_type(t.shape, tuple[int, ...])
assert_type(t.detach().numpy(), np.ndarray)
loss = (t.softmax(axis=-1).log() * t.clip(0, 1)).max()
loss.backward()
if t.grad is not None:
    assert_type(t.grad, ad.Tensor)
    t.grad.zero_()
t.requires_grad_().add_(1.0)
t += 1.0
np.sum(np.sin(t))
ad.relu(t)
with ad.no_grad():
    t[0] = 0.0

assert_type(t.sum(dim=1, keepdim=True), ad.Tensor)
assert_type(t.max(dim=1).values, ad.Tensor)
assert_type(t.masked_fill(t > 0, 0.0).clamp(0, 1).unsqueeze(0), ad.Tensor)
assert_type(t.topk(1).indices, ad.Tensor)
assert_type(t.gather(1, t.argmax(dim=1)), ad.Tensor)
values, indices = t.max(dim=0)
assert_type(ad.zeros(2, 3), ad.Tensor)
assert_type(ad.as_tensor([1.0]), ad.Tensor)

t.mps()  # expected: attr-defined
t.summ()  # expected: attr-defined
t.mean(axes=0)  # expected: call-arg
t.mean(axis="x")  # expected: arg-type
t.backward(retain=True)  # expected: call-arg
t.grad.zero_()  # expected: union-attr
ad.tensor([1.0], require_grad=True)  # expected: call-arg
t.ndim = 4  # expected: misc
ad.no_gard()  # expected: attr-defined
