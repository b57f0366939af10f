"""Lines that a PyTorch user types from habit.

`torch` is PyTorch where their values are made, and adjoint where they are tested.

What stands before the last ``;`` runs first; the value is that of what stands behind it.
"""

import numpy as np

from tests.habits.tensor_lines import TENSORS
from tests.habits.training_lines import TRAINING

#: Lines whose values are PyTorch's.
WORK = """
torch.tensor([[1.0, 2.0], [3.0, 4.0]])
torch.tensor([1.0, 2.0], requires_grad=True).requires_grad
torch.zeros(2, 3)
torch.zeros((2, 3), dtype=torch.float32)
torch.ones(2, 3)
torch.full((2, 3), 7.0)
torch.eye(3)
torch.arange(5)
torch.arange(1, 10, 2).float()
torch.linspace(0, 1, steps=5).unsqueeze(1)
torch.empty(2, 3).shape
torch.zeros_like(a)
torch.ones_like(a)
torch.full_like(a, 3.0)
torch.from_numpy(array)
torch.as_tensor(array)
torch.is_tensor(a)
a.new_zeros(2, 2)
a.shape
a.shape[-1]
a.size()
a.size(0)
a.size(-1)
a.numel()
torch.numel(a)
a.dim()
a.ndim
len(a)
a[0]
a[:, 1:3]
a[..., None].shape
a[a > 0]
a[index]
a[:, index]
a.sum()
a.sum(dim=1)
a.sum(1)
a.sum(dim=(0, 1))
a.sum(dim=-1, keepdim=True)
torch.sum(a, dim=0)
a.mean(dim=0)
a.mean(0, keepdim=True)
torch.mean(a, dim=1, keepdim=True)
a.prod(dim=1)
a.std(dim=0, unbiased=False)
a.var(dim=1, correction=1)
a.norm()
a.norm(dim=1)
torch.norm(a)
a.norm(p=1, dim=1)
torch.linalg.norm(a)
a.max()
a.max(dim=1).values
a.max(dim=1)[1]
values, indices = torch.max(a, dim=0); values
a.min(dim=1, keepdim=True).values
torch.min(a)
torch.maximum(a, b)
a.amax(dim=1)
a.amin(dim=0, keepdim=True)
a.argmax(dim=1)
a.argmax()
torch.argmin(a, dim=0, keepdim=True)
a.sort(dim=1).values
torch.sort(v, descending=True).indices
a.argsort(dim=1)
torch.topk(v, 2).values
values, indices = a.topk(2, dim=1); indices
a.topk(2, largest=False).values
a.cumsum(dim=1)
torch.cumsum(v, dim=0)
a.cumprod(dim=0)
torch.cummax(a, dim=1).values
(a > 0).any(dim=1)
(a > -9).all()
a.view(-1)
a.view(2, 6)
a.view(-1, 2).shape
a.reshape(2, -1)
a.t()
torch.t(a)
a.T
s.transpose(0, -1).shape
s.transpose(1, 2)
torch.transpose(s, 0, 1)
s.permute(2, 0, 1)
torch.permute(s, (2, 0, 1))
a.unsqueeze(0)
torch.unsqueeze(v, 1)
a.unsqueeze(-1).squeeze(-1)
a.unsqueeze(1).squeeze(dim=1)
v.expand(3, 4)
v.unsqueeze(0).expand(3, -1)
v.expand_as(a)
a.flatten()
torch.flatten(s, 1)
s.flatten(start_dim=1)
torch.cat([a, b], dim=0)
torch.cat((a, b), 1)
torch.cat([a, b], dim=-1)
torch.stack([a, b])
torch.stack((a, b), dim=1)
torch.vstack([a, b])
torch.chunk(a, 2, dim=1)
a.chunk(2)
a.split(2, dim=1)
torch.split(a, [1, 3], dim=1)
torch.unbind(a, dim=0)
a.unbind(1)
a.repeat_interleave(2, dim=0)
torch.repeat_interleave(v, 2)
torch.tile(v, (2,))
a.flip(0)
torch.flip(a, dims=[0, 1])
torch.roll(a, 1, dims=0)
a @ m
torch.matmul(a, m)
torch.mm(a, m)
a.mm(m)
torch.bmm(s, s.transpose(1, 2))
torch.mv(a, v)
torch.dot(v, v)
torch.outer(v, v)
torch.einsum("ij,jk->ik", a, m)
torch.addmm(b[:, :1], a, m)
torch.abs(a)
a.abs()
a.exp()
torch.exp(a)
torch.log(a.abs())
a.nan_to_num(0.0)
a.pow(2)
torch.pow(a, 2)
a.square()
torch.rsqrt(a.abs())
a.sigmoid()
torch.sigmoid(a)
torch.tanh(a)
torch.relu(a)
a.relu()
torch.softmax(a, dim=1)
a.softmax(dim=-1)
a.log_softmax(dim=1)
torch.logsumexp(a, dim=1)
torch.clamp(a, min=0)
a.clamp(-1, 1)
a.clamp(max=0.5)
a.clamp_min(0.0)
torch.where(a > 0, a, b)
torch.where(a > 0, a, torch.zeros_like(a))
a.masked_fill(a > 0, 0.0)
a.masked_fill(mask, float("-inf"))
torch.masked_select(a, mask)
a.gather(1, columns)
torch.gather(a, dim=1, index=columns)
torch.zeros_like(a).scatter_add(1, columns, b)
torch.zeros_like(a).scatter_(1, columns[:, :1], 1.0)
a.index_select(0, index)
torch.tril(torch.ones(3, 3))
torch.triu(a, diagonal=1)
torch.diag(v)
torch.diagonal(a)
torch.trace(a)
torch.allclose(a, a + 1e-12)
torch.isnan(a).any()
torch.sign(a)
torch.floor(a)
a.round()
torch.lerp(a, b, 0.25)
torch.unique(index)
torch.meshgrid(v, v, indexing="ij")[0]
torch.cdist(a, b)
a.eq(b)
a.gt(0)
(a > 0).float()
a.float().dtype == torch.float32
a.double().dtype == torch.float64
(a > 0).long().sum()
(a * 10).int()
a.to(torch.float32).dtype == torch.float32
a.to("cpu")
a.to(device="cpu", dtype=torch.float64)
a.type_as(b)
a.cpu().detach().numpy()
a.sum().item()
a.tolist()
a.clone()
a.contiguous()
a.add_(1.0); a
a.mul_(2).sub_(1); a
a.zero_(); a
a.clamp_(0, 1); a
a[0] = 0.0; a
p = torch.ones(3, requires_grad=True); (p * 3).sum().backward(); p.grad
p = torch.ones(3, requires_grad=True); g, = torch.autograd.grad((p**2).sum(), p); g
p = torch.ones(3, requires_grad=True); g, = torch.autograd.grad((p**3).sum(), p, create_graph=True); g
p = torch.ones(3).requires_grad_(); y = p.detach(); y.requires_grad
p = torch.ones(3, requires_grad=True); c = torch.no_grad(); c.__enter__(); q = p * 2; c.__exit__(None, None, None); q.requires_grad
p = torch.ones(3, requires_grad=True); (p * p).sum().backward(); p.grad.zero_(); p.grad
p = torch.ones(3, requires_grad=True); (p * p).backward(torch.ones_like(p)); p.grad
torch.is_grad_enabled()
net = nn.Linear(4, 2); net(a).shape
net = nn.Linear(4, 2); [p.shape for p in net.parameters()]
net = nn.Linear(4, 2); sum(p.numel() for p in net.parameters() if p.requires_grad)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)); net(a).squeeze(-1).shape
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU()); net.train().training, net.eval().training
net = nn.Linear(4, 2); list(net.state_dict().keys())
net = nn.Linear(4, 2); net.load_state_dict({"weight": torch.ones(2, 4), "bias": torch.zeros(2)}); net(a)
net = nn.Linear(4, 2); nn.init.zeros_(net.weight); nn.init.constant_(net.bias, 0.5); net(a)
net = nn.Linear(4, 2).to("cpu"); next(net.parameters()).device == torch.device("cpu")
net = nn.Linear(4, 1).double(); nn.init.ones_(net.weight); nn.init.zeros_(net.bias); net(a)
nn.ReLU(inplace=True)(a)
nn.Dropout(0.5).eval()(a)
nn.LayerNorm(4)(a)
nn.Embedding(10, 3)(index).shape
nn.Parameter(torch.ones(2)).requires_grad
nn.Conv2d(1, 2, kernel_size=3, padding=1)(torch.ones(1, 1, 5, 5)).shape
F.relu(a)
F.softmax(a, dim=1)
F.log_softmax(a, dim=-1)
F.cross_entropy(a, labels)
F.nll_loss(F.log_softmax(a, dim=1), labels)
F.mse_loss(a, b)
F.binary_cross_entropy_with_logits(a, mask.double())
F.one_hot(labels, num_classes=4)
F.normalize(a, dim=1)
F.pad(a, (1, 1), value=2.0)
F.gelu(a)
F.linear(a, m.t())
F.cosine_similarity(a, b, dim=1)
F.dropout(a, p=0.5, training=False)
nn.CrossEntropyLoss()(a, labels)
nn.MSELoss(reduction="sum")(a, b)
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=0.1); o.zero_grad(); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.Adam([w], lr=0.1); o.zero_grad(set_to_none=True); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=0.1); r = optim.lr_scheduler.StepLR(o, step_size=1); o.step(); r.step(); r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = optim.AdamW([w], lr=0.1); o.param_groups[0]["lr"]
w = nn.Parameter(torch.ones(3)); (w**2).sum().backward(); nn.utils.clip_grad_norm_([w], 1.0); w.grad
torch.save({"w": a}, path); torch.load(path)["w"]
torch.finfo(torch.float32).eps
torch.pi
torch.amax(a, dim=1)
torch.amin(s, dim=(0, 2), keepdim=True)
a.amax(1)[0]
s.mean([1, 2])
s.sum([0, 1], keepdim=True)
s.amax([0, 2])
torch.fft.fft(a).real
torch.func.grad(lambda x: (x**3).sum())(v)
torch.func.grad(lambda x: x.sum())(v).norm()
torch.func.vmap(torch.func.grad(lambda x: (x**3).sum()))(a)
torch.func.grad_and_value(lambda x: (x**2).sum())(v)
torch.func.jvp(lambda x: x**2, (v,), (v,))
torch.func.vjp(lambda x: x**2, v)[1](v)
torch.autograd.functional.jacobian(lambda x: x**2, v)
torch.autograd.functional.hvp(lambda x: (x**3).sum(), v, v)
len(torch.utils.data.TensorDataset(a, b))
torch.utils.checkpoint.checkpoint(lambda x: x * 2, a, use_reentrant=False)
p = torch.zeros_like(a, requires_grad=True); (p * a).sum().backward(); p.grad
p = torch.ones(3, requires_grad=True); torch.autograd.grad((p**2).sum(), p, only_inputs=True)[0]
torch.add(a, b, alpha=2)
torch.sub(a, b, alpha=0.5)
torch.div(a, b, rounding_mode="floor")
torch.div(index, 2, rounding_mode="trunc")
a.div(2, rounding_mode="floor")
torch.exp(a, out=b); b
torch.logit(a.sigmoid(), eps=1e-6)
torch.frac(a)
torch.clamp_min(a, 0)
torch.complex(a, b).abs()
torch.polar(a.abs(), b).real
torch.view_as_real(torch.complex(a, b))
torch.special.expit(a)
torch.special.gammaln(a.abs() + 1)
torch.special.logsumexp(a, dim=1)
torch.special.bessel_j0(a)
torch.linalg.norm(a, dim=1)
torch.linalg.norm(a, dim=-1, keepdim=True)
torch.linalg.vector_norm(a, ord=1, dim=(0, 1))
torch.linalg.vecdot(a, b, dim=0)
torch.linalg.lstsq(a.t(), v).solution
torch.linalg.solve_triangular(torch.tril(a[:, :3]), b, upper=False)
torch.fft.fft(a, dim=0).abs()
torch.fft.fftn(a, dim=(0, 1)).real
torch.fft.fftshift(a, dim=1)
torch.nonzero(mask, as_tuple=True)
mask.nonzero(as_tuple=False)
a.flip(0, 1)
a.flip(dims=(1,))
s.permute(dims=(2, 1, 0))
v.expand(size=(2, 4))
torch.tril_indices(3, 3)
torch.block_diag(a, b)
torch.cartesian_prod(v, v)
torch.combinations(v, 2)
torch.diag_embed(v)
torch.diag_embed(a, offset=1)
torch.var_mean(a, dim=0, unbiased=False)
torch.std_mean(a, dim=1)
torch.aminmax(a, dim=0)
a.median()
a.median(dim=1).indices
torch.kthvalue(v, 2)
torch.mode(torch.tensor([1, 2, 2, 3, 3]))
torch.logcumsumexp(a, dim=1)
torch.cumulative_trapezoid(a, dim=0)
torch.dist(a, b, p=1)
torch.pdist(a)
torch.renorm(a, 2, 0, 1.0)
torch.histc(a, bins=4, min=-2, max=2)
torch.unique_consecutive(torch.tensor([1, 1, 2, 2, 1]), return_counts=True)
torch.bucketize(a, torch.tensor([-1.0, 0.0, 1.0]))
torch.tensor_split(a, 3, dim=1)
a.unfold(1, 2, 1)
a.take_along_dim(columns, 1)
a.index_fill(1, index, 0.0)
torch.zeros(3, 4).index_copy_(0, index, a)
x = a.clone(); x.index_put_((index, index), torch.ones(3)); x
torch.zeros(3, 4).masked_scatter(mask, a)
x = torch.zeros(3, 3); x.fill_diagonal_(1.0); x
torch.addmv(v[:3], a, v)
torch.addr(torch.zeros(4, 4), v, v)
torch.logdet(a @ a.t())
torch.cholesky_solve(a, torch.linalg.cholesky(a @ a.t()))
torch.matrix_exp(a[:, :3])
torch.hann_window(8)
torch.bartlett_window(5, periodic=False)
a.type(torch.float32).dtype == torch.float32
a.is_floating_point(), a.is_contiguous(), a.stride(), a.element_size(), a.nelement(), a.ndimension()
a.shape == torch.Size([3, 4])
a.device.type
torch.device("cuda" if torch.cuda.is_available() else "cpu").type
torch.vmap(torch.dot, in_dims=(1, 1))(a, b)
p = torch.ones(3, requires_grad=True); torch.autograd.backward((p**2).sum()); p.grad
p = torch.ones(3, requires_grad=True); (p * 2).grad_fn is None, p.grad_fn is None
nn.init.constant_(nn.Linear(4, 2).bias.data, 3.0)
isinstance(nn.Linear(2, 3), nn.modules.linear.Linear), isinstance(nn.BatchNorm2d(3), nn.modules.batchnorm._BatchNorm)
nn.utils.rnn.pack_padded_sequence(s, torch.tensor([3, 2]), batch_first=True).batch_sizes
nn.utils.rnn.pack_padded_sequence(s, torch.tensor([3, 2]), batch_first=True).data
torch.save(a, path); torch.load(path)
torch.save([a, b], path); torch.load(path)[1]
"""

#: Lines that cannot be PyTorch's here, and a part of the sentence that says what to write.
ANSWERED = {
    "torch.manual_seed(0)": "rng=",
    "torch.randn(3, 4)": "np.random.default_rng",
    "torch.rand(3, 4)": "np.random.default_rng",
    "torch.randint(0, 10, (3,))": "np.random.default_rng",
    "torch.randperm(5)": "np.random.default_rng",
    "a.cuda()": "CPU",
    "torch.cuda.synchronize()": "cupy",
    "torch.autograd.gradcheck": "check_grads",
    "torch.LongTensor([1, 2])": "ad.tensor(x, dtype",
    "torch.FloatTensor([1.0])": "ad.tensor(x, dtype",
    "torch.get_default_dtype()": "astype",
    "torch.set_default_dtype(torch.float32)": "astype",
    "torch.promote_types(torch.float32, torch.float64)": "np.promote_types",
    "torch.set_printoptions(precision=3)": "np.set_printoptions",
    "torch.get_num_threads()": "OPENBLAS_NUM_THREADS",
    "torch.autocast('cpu', enabled=False)": "astype",
    "torch.amp.GradScaler()": "astype",
    "a.data.uniform_(-1, 1)": "nn.init.uniform_",
    "a.data.normal_()": "nn.init.normal_",
    "a.bernoulli_(0.5)": "rng.random",
}

#: Lines that give what NumPy gives, which is something else; the page "Coming from PyTorch" names each.
DIFFERENT = ("a.std()", "torch.equal(a, a)", "torch.nonzero(a > 0)", "torch.split(a, 2)", "a.max(1)", "a.repeat(1, 0)",
             "v.repeat(2)", "torch.nonzero(mask)", "torch.split(v, 3)")  # fmt: skip

LINES = [line for text in (WORK, TENSORS, TRAINING) for line in text.splitlines() if line]


def namespace(torch, path, convert):
    """The names that the lines use; `convert` makes a tensor of an array."""
    rng = np.random.default_rng(0)
    arrays = {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=(3, 4)), "v": rng.normal(size=4)}
    arrays |= {"m": rng.normal(size=(4, 5)), "s": rng.normal(size=(2, 3, 4)), "index": np.array([2, 0, 1])}
    arrays |= {"labels": np.array([3, 0, 2]), "columns": np.array([[1, 0, 3, 2], [0, 0, 2, 2], [3, 1, 1, 0]])}
    arrays["mask"] = arrays["b"] > 0
    modules = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "optim": torch.optim}
    return modules | {name: convert(x) for name, x in arrays.items()} | {"array": arrays["a"].copy(), "path": str(path)}


def value(line, names):
    """What a line gives."""
    *before, last = line.split("; ")
    for statement in before:
        exec(statement, names)
    return eval(last, names)


def leaves(x):
    """The arrays, numbers and words of a value."""
    if isinstance(x, list | tuple):
        return [leaf for item in x for leaf in leaves(item)]
    if isinstance(x, str | bool | int | float):
        return [np.asarray(x)]
    return [np.asarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)]


def compare(line, found, values):
    """Raise AssertionError if `found`, what a line gives, is not what PyTorch gives, which `values` has."""
    expected = [values[key] for key in values.files if key.rpartition("/")[0] == line]
    assert expected, "PyTorch's values are missing: run scripts/torch_habits.py"
    found = leaves(found)
    assert len(found) == len(expected)
    tolerance = 1e-6 if "clip_grad" in line else 1e-10  # PyTorch adds 1e-6 to the norm
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.shape == theirs.shape
        if theirs.dtype.kind in "US":
            assert mine == theirs
        else:
            np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=1e-12)
