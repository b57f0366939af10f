"""Functions of tensors give tensors, and those of NumPy and SciPy keep their names."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import adjoint as ad
import adjoint.nn.functional as F  # noqa: N812 - as users of PyTorch write it
import adjoint.scipy as asp
from adjoint import Tensor, nn
from adjoint.scipy import linalg

t = ad.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
array = np.ones((2, 2))
assert_type(ad.relu(t), Tensor)
assert_type(ad.softmax(t, axis=-1), Tensor)
assert_type(ad.logsumexp(t, axis=0), Tensor)
assert_type(nn.sigmoid(t), Tensor)
assert_type(nn.cross_entropy(t, np.zeros(2, np.int64)), Tensor)
assert_type(nn.mse_loss(t, t, reduction="sum"), Tensor)
assert_type(F.gelu(t, approximate="tanh"), Tensor)
assert_type(F.softmax(t, dim=-1), Tensor)
assert_type(F.dropout(t, 0.5, training=False), Tensor)
assert_type(F.pad(input=t, pad=(1, 1)), Tensor)
assert_type(F.normalize(t), Tensor)
doubles: NDArray[np.float64] = F.softplus(np.ones(3))
F.linear(array, t).backward()
F.mse_loss(t, t).backwards()  # expected: attr-defined
F.relu()  # expected: call-arg
F.softmax(t, along=0)  # expected: call-arg
ad.softmax(t).summ()  # expected: attr-defined
ad.relu(t, 0.1)  # expected: call-arg
F.crossentropy(t, t)  # expected: attr-defined

assert_type(t.clone(), Tensor)
assert_type(t.logsumexp(axis=-1), Tensor)
assert_type(divmod(t, 2)[0], Tensor)
t.isnan().any()
t += 1.0
t @= array
assert_type(t, Tensor)
t.clone().backwards()  # expected: attr-defined

linalg.expm(t)
asp.integrate.solve_ivp(lambda time, y: -y, (0.0, 1.0), np.ones(2))
ad.scipy.special.erf(t)
asp.linalgg.expm(t)  # expected: attr-defined
asp.linalg.expmm(t)  # expected: attr-defined
ad.train.accuracy(t, np.zeros(2, np.int64))
