"""Lines about tensors and functions that a PyTorch user types from habit; see `tests/habits/table.py`."""

TENSORS = r"""
a.data.norm()
a.data.max(dim=1)[1]
x = a.clone(); x.data.zero_(); x
x = a.clone(); x.data.add_(b, alpha=-0.5); x
x = a.clone(); x.data.clamp_(-1, 1); x
x = a.clone(); x.data.copy_(b); x
x = a.clone(); x.data -= 0.1 * b; x
x = a.clone(); x.data.mul_(2).add_(1); x
p = torch.ones(3, requires_grad=True); (p * p).sum().backward(); p.data -= 0.1 * p.grad.data; p.grad.data.zero_(); [p.data, p.grad]
a.sum().data.item()
a.data.view(-1)
a.data.size(0)
(a.data > 0).sum()
a.data.argmax(dim=1).eq(labels).sum().item()
a[-1]
a[:, -1]
a[::2]
a[None].shape
a[:, None, :].shape
a[0, 1].item()
a[[0, 2]]
a[:, [1, 3]]
a[index, columns[:, 0]]
a[torch.arange(3), labels]
a[mask].shape
a[~mask].sum()
a[a.abs() > 1].mean()
a[1:, ::2]
x = a.clone(); x[mask] = 0; x
x = a.clone(); x[:, 0] = torch.zeros(3); x
x = a.clone(); x[index] += 1; x
x = a.clone(); x[0] *= 2; x
x = a.clone(); x[x < 0] = 0; x
a.flatten().tolist()
a.ravel()
a.view(3, 2, 2).sum(dim=-1)
a.view(a.size(0), -1).shape
s.view(s.size(0), -1).shape
s.reshape(-1, s.shape[-1]).shape
s.flatten(1).shape
s.flatten(0, 1)
s.mean(dim=(-2, -1))
s.mean(dim=[1, 2], keepdim=True)
s.var(dim=-1, keepdim=True, unbiased=False)
s.std(dim=(1, 2), correction=0)
s.max(dim=-1, keepdim=True)[0]
s.amax(dim=(1, 2))
s.argmax(dim=-1)
s.argmin(1)
s.sum(dim=-1).unsqueeze(-1)
s.norm(dim=-1, keepdim=True)
s.norm(p=2, dim=-1)
s / s.norm(dim=-1, keepdim=True)
s.transpose(-2, -1).shape
s.mT.shape
s.movedim(0, -1).shape
s.swapaxes(0, 1).shape
s @ m
torch.einsum("bij,jk->bik", s, m)
torch.baddbmm(torch.zeros(2, 3, 3), s, s.transpose(1, 2))
torch.chunk(v, 2)
q, k, w = torch.chunk(torch.arange(12).reshape(2, 6), 3, dim=-1); k
x, y = a.chunk(2, dim=-1); x * y.sigmoid()
x, y = v.split([1, 3]); y
torch.hstack([a, b])
torch.dstack([a, b]).shape
torch.concat([a, b])
torch.concatenate([a, b], dim=1)
torch.stack([a, b], dim=-1).shape
torch.stack([a.mean(), b.mean()])
torch.stack([torch.tensor(1.0), torch.tensor(2.0)]).mean()
torch.cat([v, torch.tensor([1.0])])
torch.tensor([[1, 2], [3, 4]], dtype=torch.float32).dtype == torch.float32
torch.tensor(3.0).item()
torch.tensor([1, 2]).dtype == torch.int64
torch.ones_like(a, dtype=torch.float32).dtype == torch.float32
torch.zeros(3, dtype=torch.long)
torch.zeros(2, 3, requires_grad=True).requires_grad
torch.full((3,), float("inf"))
torch.full_like(a, -1e9)
torch.arange(0, 1, 0.25)
torch.arange(3, dtype=torch.float32).dtype == torch.float32
torch.linspace(-1, 1, 5)
torch.logspace(0, 2, 3)
torch.triu(torch.ones(4, 4), diagonal=1).bool()
torch.tril(torch.ones(4, 4)).view(1, 1, 4, 4)
torch.ones(4, 4).tril().masked_fill(torch.ones(4, 4).triu(1).bool(), float("-inf"))
torch.eye(3)[labels[:2] % 3]
torch.diag(torch.ones(3))
torch.where(mask)
torch.where(mask, a, 0.0)
torch.where(a > 0, 1.0, -1.0)
torch.argwhere(mask)
torch.argmax(a, dim=-1)
torch.argsort(v, descending=True)
torch.sort(a, dim=-1, descending=True)[0]
torch.topk(a, k=2, dim=-1)[1]
a.topk(1)[0].squeeze(-1)
torch.cumsum(a, -1)
torch.diff(v)
torch.clip(a, -1, 1)
torch.clamp(a, -0.5, 0.5)
a.clamp(min=1e-8).log()
torch.log1p(a.abs())
torch.expm1(a)
torch.sqrt(a.abs() + 1e-8)
torch.reciprocal(a)
torch.erf(a)
torch.atan2(a, b)
torch.hypot(a, b)
torch.fmod(a, 0.7)
torch.remainder(a, 0.7)
a % 0.7
a // 0.5
torch.floor_divide(a, 0.5)
torch.true_divide(a, b)
torch.multiply(a, b)
torch.square(a)
torch.sum(a * b, dim=-1)
torch.mean(a)
torch.mean((a - b) ** 2)
torch.std(a, dim=0, correction=1)
torch.var(a, dim=1, unbiased=False, keepdim=True)
torch.median(a, dim=1).values
torch.quantile(a, 0.5)
torch.quantile(a, torch.tensor([0.25, 0.75]), dim=1)
torch.prod(a, dim=0)
torch.any(mask, dim=1)
torch.all(mask)
torch.isclose(a, a).all()
torch.isinf(a).any()
torch.isfinite(a).all()
torch.count_nonzero(mask)
torch.count_nonzero(mask, dim=1)
torch.bincount(torch.tensor([0, 1, 1, 3]))
torch.unique(torch.tensor([3, 1, 1, 2]), return_counts=True)
torch.unique(torch.tensor([3, 1, 1, 2]), sorted=True, return_inverse=True)
torch.searchsorted(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.5, 3.0]))
torch.isin(labels, torch.tensor([0, 3]))
torch.broadcast_to(v, (3, 4))
torch.broadcast_tensors(v, a)[0]
torch.atleast_2d(v).shape
torch.squeeze(a.unsqueeze(0), 0).shape
torch.rot90(a)
torch.kron(torch.eye(2), torch.ones(1, 2))
torch.inner(v, v)
torch.cross(a[:, :3], b[:, :3], dim=1)
torch.linalg.inv(m[:4, :4])
torch.linalg.solve(m[:4, :4], v)
torch.linalg.svd(a)[1]
torch.linalg.det(m[:4, :4])
torch.linalg.eigh(a.T @ a)[0]
torch.linalg.qr(a)[1].abs()
torch.linalg.cholesky(a @ a.T)
torch.linalg.matrix_norm(a)
torch.linalg.pinv(a)
torch.linalg.matrix_rank(a)
torch.trapezoid(v)
torch.softmax(a, -1)
a.softmax(1)
a.log_softmax(-1)
torch.nn.functional.softplus(a)
F.silu(a)
F.elu(a)
F.leaky_relu(a, 0.1)
F.leaky_relu(a, negative_slope=0.2)
F.hardtanh(a)
F.relu6(a)
F.selu(a)
F.celu(a, alpha=0.5)
F.celu(a, alpha=-0.5)
nn.CELU(-2.0)(a)
F.mish(a)
F.softsign(a)
F.logsigmoid(a)
F.glu(a, dim=-1)
F.gelu(a, approximate="tanh")
F.hardsigmoid(a)
F.hardswish(a)
F.prelu(a, torch.tensor([0.25]))
F.layer_norm(a, (4,))
F.layer_norm(a, a.shape[1:])
F.group_norm(s, 3)
F.batch_norm(a, None, None, training=True)
F.instance_norm(s)
F.rms_norm(a, (4,))
F.l1_loss(a, b)
F.smooth_l1_loss(a, b)
F.huber_loss(a, b, delta=0.5)
F.mse_loss(a, b, reduction="none")
F.mse_loss(a, b, reduction="sum")
F.binary_cross_entropy(a.sigmoid(), mask.double())
F.binary_cross_entropy_with_logits(a, mask.double(), pos_weight=torch.tensor(2.0))
F.cross_entropy(a, labels, reduction="sum")
F.cross_entropy(a, labels, label_smoothing=0.1)
F.cross_entropy(a, labels, weight=torch.tensor([1.0, 2.0, 3.0, 4.0]))
F.cross_entropy(a, torch.tensor([3, -100, 2]))
F.cross_entropy(a, labels, ignore_index=0)
F.cross_entropy(a, F.softmax(b, dim=1))
F.cross_entropy(s, torch.zeros(2, 4).long())
F.nll_loss(a.log_softmax(1), labels, reduction="none")
F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean")
F.kl_div(a.log_softmax(1), b.log_softmax(1), reduction="sum", log_target=True)
F.cosine_embedding_loss(a, b, torch.tensor([1, -1, 1]))
F.triplet_margin_loss(a, b, a + b)
F.margin_ranking_loss(v, v.flip(0), torch.ones(4))
F.hinge_embedding_loss(a, torch.where(b > 0, 1.0, -1.0))
F.poisson_nll_loss(a, b.abs())
F.gaussian_nll_loss(a, b, b.abs() + 1)
F.multi_margin_loss(a, labels)
F.multilabel_soft_margin_loss(a, mask.double())
F.soft_margin_loss(a, torch.where(mask, 1.0, -1.0))
F.pairwise_distance(a, b)
F.embedding(labels, a.t())
F.one_hot(labels).float()
F.pad(a, (0, 1, 2, 0))
F.pad(s, (1, 1), mode="reflect")
F.pad(a, (1, 2), "constant", 0)
F.interpolate(s.unsqueeze(0), scale_factor=2, mode="nearest")
F.interpolate(s.unsqueeze(0), size=(6, 8), mode="bilinear", align_corners=False)
F.max_pool2d(s.unsqueeze(0), 2)
F.avg_pool2d(s.unsqueeze(0), 2)
F.max_pool1d(s, 2)
F.adaptive_avg_pool2d(s.unsqueeze(0), 1)
F.adaptive_avg_pool2d(s.unsqueeze(0), (1, 1)).flatten(1)
F.conv1d(s, torch.ones(2, 3, 3), padding=1)
F.conv2d(s.unsqueeze(0), torch.ones(1, 2, 2, 2), stride=1)
F.conv_transpose1d(s, torch.ones(3, 1, 2), stride=2)
F.unfold(s.unsqueeze(0), kernel_size=2).shape
F.scaled_dot_product_attention(s, s, s)
F.scaled_dot_product_attention(s, s, s, is_causal=True)
F.pixel_shuffle(torch.arange(16.0).view(1, 4, 2, 2), 2)
F.grid_sample(s.unsqueeze(0), torch.zeros(1, 2, 2, 2), align_corners=False)
F.sigmoid(a)
F.normalize(s, p=2, dim=-1)
F.softmin(a, dim=1)
F.gumbel_softmax(a, hard=True).sum(1)
F.dropout(a, 0.0)
torch.linalg.vector_norm(a, 1)
torch.linalg.vector_norm(a, 2, dim=1, keepdim=True)
torch.linalg.vector_norm(a)
torch.norm(a, 2)
torch.norm(a, 1)
torch.norm(a, float("inf"))
torch.norm(a, 2, dim=1)
torch.norm(torch.stack([torch.norm(x, 2) for x in (a, b)]), 2)
(a.argmax(1) == labels).float().mean().item()
a.argmax(1).eq(labels).sum().item()
a.argmax(1).numpy()
a.argmax(1).size(0)
a.argmax(-1).detach().cpu().tolist()
a.argmax(1).view(-1, 1).shape
a.gather(1, a.argmax(1).unsqueeze(1)).squeeze(1)
(labels == a.argmax(1)).sum().item()
(a.argmax(dim=1) == labels).sum().item()
(a.argmax(dim=1) == labels).float().mean().item()
a.argmax(dim=1).eq(labels).sum().item()
pred = a.argmax(dim=1, keepdim=True); pred.eq(labels.view_as(pred)).sum().item()
a.max(dim=1)[1].eq(labels).sum()
torch.max(a, dim=1)[1]
torch.max(a, dim=1).indices
torch.max(a, b)
torch.min(a, b)
a.max().item()
float(a.sum()), int(a.numel())
total = 0; total += a.sum().item(); total / len(a)
bool((a == a).all())
if_any = (a > 100).any().item(); if_any
[x.item() for x in v]
[row.sum().item() for row in a]
for_zip = [(x * y).item() for x, y in zip(v, v)]; for_zip
v.expand(3, -1)
a.view_as(b)
a.reshape_as(b).shape
a.new_tensor([1.0])
a.new_ones(2)
a.new_full((2,), 3.0)
a.fill_(1.0); a
a.copy_(b); a
a.exp_(); a
a.abs_().sqrt_(); a
a.sub_(b).div_(2); a
a.neg_(); a
a.clamp_(min=0); a
a.masked_fill_(mask, 0); a
a.scatter_(1, columns, 0.0); a
a.index_add_(0, index, b); a
a.scatter(1, columns[:, :1], 1.0)
a.index_add(0, index, b, alpha=0.5)
a.addcmul(a, b, value=0.5)
a.addcdiv(a, b.abs() + 1, value=0.5)
a.lerp(b, 0.1)
a.matmul(m)
a.T @ a
torch.corrcoef(a)
a.isnan().any()
a.nansum()
a.logsumexp(dim=-1)
a.cumsum(-1)
a.roll(1, dims=1)
a.triu()
a.diagonal()
a.trace()
a.sign()
a.sinh(), a.cosh(), a.atan()
a.floor(), a.ceil(), a.trunc(), a.frac()
a.logical_not(), mask.logical_and(mask)
mask.int(), mask.long(), mask.float().sum()
mask & (a > 0), mask | (a > 0), ~mask, mask ^ mask
a.bool().all()
a.le(0), a.lt(0), a.ge(0), a.ne(b)
a.allclose(a)
a.unbind()[0]
a.unflatten(1, (2, 2)).shape
a.squeeze().shape
a.narrow(1, 0, 2)
a.select(0, 1)
a.tensor_split(2)[0].shape
torch.narrow(a, 0, 0, 1)
torch.take(a, torch.tensor([0, 5]))
torch.swapaxes(s, 0, 1).shape
torch.movedim(s, 0, 2).shape
torch.hypot(a, b)
torch.result_type(a, 1) == torch.float64
torch.float64 == a.dtype
torch.iinfo(torch.int64).max
torch.inf
torch.nan_to_num(torch.tensor([float("nan"), 1.0]))
"""
