"""Lines about networks and training that a PyTorch user types from habit; see `tests/habits/table.py`."""

TRAINING = r"""
net = nn.Linear(4, 2); nn.init.constant_(net.weight, 0.1); nn.init.zeros_(net.bias); net(a)
net = nn.Linear(4, 2, bias=False); net.bias is None
net = nn.Linear(4, 2); net.in_features, net.out_features
net = nn.Linear(4, 2); nn.init.eye_(net.weight); net.weight
w = torch.empty(3, 5); nn.init.ones_(w); w
w = torch.empty(4, 4); nn.init.orthogonal_(w); w @ w.T
w = torch.empty(3, 5); nn.init.xavier_uniform_(w, gain=nn.init.calculate_gain("relu")); (w.abs() < 1.3).all()
w = torch.empty(3, 5); nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"); w.shape
w = torch.empty(3, 5); nn.init.trunc_normal_(w, std=0.02); (w.abs() < 2).all()
w = torch.empty(3, 5); nn.init.dirac_(torch.empty(2, 2, 3))
net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)); len(net), len(net[:2]), type(net[1]).__name__, type(net[-1]).__name__
net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)); net[:-1](a).shape
net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)); net[2] = nn.Identity(); net(a).shape
net = nn.Sequential(nn.Linear(4, 3)); net.append(nn.ReLU()); net.add_module("out", nn.Linear(3, 1)); [n for n, _ in net.named_children()]
net = nn.Sequential(nn.Linear(4, 3), nn.ReLU()); list(net.children())[:-1][0].out_features
net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(3)]); len(list(net.modules()))
net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)); net[0].weight.requires_grad = False; [n for n, p in net.named_parameters() if p.requires_grad]
net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)); x = net[0].requires_grad_(False); net(a).sum().backward(); [p.grad is None for p in net.parameters()]
net = nn.Linear(4, 2); x = net.apply(lambda layer: nn.init.ones_(layer.weight) if isinstance(layer, nn.Linear) else None); x.weight
net = nn.Sequential(nn.Linear(4, 2)); x = net.apply(lambda layer: layer.weight.data.fill_(0.5) if isinstance(layer, nn.Linear) else None); net[0].weight
net = nn.Sequential(nn.Linear(4, 2)); x = net.apply(lambda layer: layer.bias.data.fill_(0.01) if type(layer) == nn.Linear else None); net[0].bias
net = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)]); net.append(nn.Linear(4, 1)); [n for n, _ in net.named_parameters()]
net = nn.ModuleDict({"x": nn.Linear(4, 2)}); list(net.keys()), net["x"](a).shape, "x" in net
net = nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in range(2)]); len(list(net.parameters()))
net = nn.Module(); net.register_buffer("mean", torch.zeros(3)); list(net.state_dict()), len(list(net.parameters())), [n for n, _ in net.named_buffers()]
net = nn.Module(); net.register_buffer("mask", torch.ones(2), persistent=False); len(net.state_dict())
net = nn.Module(); net.register_parameter("w", nn.Parameter(torch.ones(2))); [n for n, _ in net.named_parameters()]
net = nn.Linear(4, 2); d = net.state_dict(); d["weight"] = torch.zeros(2, 4); d["bias"] = torch.ones(2); net.load_state_dict(d); net(a)
net = nn.Linear(4, 2); d = {k: torch.ones_like(x) for k, x in net.state_dict().items()}; len(net.load_state_dict(d).missing_keys)
net = nn.Linear(4, 2); d = net.state_dict(); d.pop("bias"); r = net.load_state_dict(d, strict=False); list(r.missing_keys), list(r.unexpected_keys)
net = nn.Linear(4, 2); d = {f"module.{k}": x for k, x in net.state_dict().items()}; d = {k.replace("module.", ""): x for k, x in d.items()}; len(net.load_state_dict(d).missing_keys)
net = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2)); d = {k: x for k, x in net.state_dict().items() if k.startswith("0.")}; list(d)
net = nn.Linear(4, 2); x = net.state_dict()["weight"].shape; x
net = nn.Linear(4, 2); other = nn.Linear(4, 2); other.load_state_dict(net.state_dict()); all(torch.equal(x, y).all() if hasattr(torch.equal(x, y), "all") else torch.equal(x, y) for x, y in zip(net.state_dict().values(), other.state_dict().values()))
import copy; net = nn.Linear(4, 2); other = copy.deepcopy(net); (other(a) - net(a)).abs().max().item()
net = nn.Linear(4, 2); torch.save(net.state_dict(), path); len(net.load_state_dict(torch.load(path)).missing_keys)
net = nn.Linear(4, 2); torch.save(net.state_dict(), path); len(net.load_state_dict(torch.load(path, map_location="cpu")).missing_keys)
net = nn.Linear(4, 2); torch.save(net.state_dict(), path); len(net.load_state_dict(torch.load(path, weights_only=True)).missing_keys)
net = nn.Linear(4, 2); o = optim.Adam(net.parameters()); torch.save({"model": net.state_dict(), "optimizer": o.state_dict(), "epoch": 3}, path); c = torch.load(path); net.load_state_dict(c["model"]); o.load_state_dict(c["optimizer"]); c["epoch"]
net = nn.Linear(4, 2); r = []; h = net.register_forward_hook(lambda m, i, o: r.append(o.shape)); x = net(a); h.remove(); x = net(a); len(r), r[0]
net = nn.Linear(4, 2); r = {}; h = net.register_forward_hook(lambda m, i, o: r.__setitem__("x", o.detach())); x = net(a); (r["x"] - x).abs().max().item()
net = nn.Linear(4, 2); r = []; h = net.register_forward_pre_hook(lambda m, i: r.append(i[0].shape)); x = net(a); r
net = nn.Linear(4, 2); r = []; h = net.register_full_backward_hook(lambda m, gi, go: r.append(go[0].shape)); net(a).sum().backward(); r
p = torch.ones(3, requires_grad=True); h = p.register_hook(lambda g: g * 2); (p * 3).sum().backward(); p.grad
p = torch.ones(3, requires_grad=True); y = p * 2; y.retain_grad(); y.sum().backward(); y.grad
p = torch.ones(3, requires_grad=True); y = (p * 2).sum(); y.backward(retain_graph=True); y.backward(); p.grad
p = torch.ones(3, requires_grad=True); y = p * 2; y.is_leaf, p.is_leaf, y.requires_grad, y.detach().requires_grad
p = torch.ones(3, requires_grad=True); f = torch.no_grad()(lambda: p * 2); f().requires_grad
p = torch.ones(3, requires_grad=True); f = torch.inference_mode()(lambda: p * 2); f().requires_grad
p = torch.ones(3, requires_grad=True); exec("with torch.no_grad():\n    p -= 0.5"); p
p = torch.ones(3, requires_grad=True); exec("with torch.no_grad():\n    p.add_(1)"); p
p = torch.ones(3, requires_grad=True); exec("with torch.set_grad_enabled(False):\n    y = p * 2"); y.requires_grad
p = torch.ones(3, requires_grad=True); exec("with torch.enable_grad():\n    y = p * 2"); y.requires_grad
p = torch.ones(3, requires_grad=True); (p * 2).sum().backward(); (p * 2).sum().backward(); p.grad
p = torch.ones(3, requires_grad=True); (p * 2).sum().backward(); p.grad = None; p.grad is None
p = torch.ones(3, requires_grad=True); p.requires_grad_(False).requires_grad
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4); (w**2).sum().backward(); o.step(); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.SGD([{"params": [w], "lr": 0.5}], lr=0.1); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.AdamW([w], lr=0.1, betas=(0.9, 0.95), weight_decay=0.1); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.RMSprop([w], lr=0.1); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.Adagrad([w], lr=0.1); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.Adam([w], lr=0.1); exec("for g in o.param_groups:\n    g['lr'] = 0.5"); (w**2).sum().backward(); o.step(); w
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=0.1); o.param_groups[0]["lr"] *= 0.1; o.param_groups[0]["lr"]
w = nn.Parameter(torch.ones(3)); u = nn.Parameter(torch.ones(2)); o = optim.SGD([w], lr=0.1); o.add_param_group({"params": [u], "lr": 0.01}); len(o.param_groups), o.param_groups[1]["lr"]
w = nn.Parameter(torch.ones(3)); o = optim.Adam([w], lr=0.1); (w**2).sum().backward(); o.step(); len(o.state[w]), len(o.state_dict()["state"])
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.CosineAnnealingLR(o, T_max=10); (o.step(), r.step()) and r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.LambdaLR(o, lambda e: 0.5**e); o.step(); r.step(); o.param_groups[0]["lr"]
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.ReduceLROnPlateau(o, patience=0, factor=0.1); [r.step(1.0) for _ in range(3)]; o.param_groups[0]["lr"]
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.OneCycleLR(o, max_lr=1.0, total_steps=10); o.step(); r.step(); r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.OneCycleLR(o, max_lr=0.1, steps_per_epoch=5, epochs=2); o.step(); r.step(); r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.MultiStepLR(o, milestones=[1, 2], gamma=0.1); [(o.step(), r.step()) for _ in range(2)]; r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.ExponentialLR(o, 0.9); o.step(); r.step(); d = r.state_dict(); r.load_state_dict(d); d["last_epoch"]
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = optim.lr_scheduler.SequentialLR(o, [optim.lr_scheduler.LinearLR(o, total_iters=2), optim.lr_scheduler.CosineAnnealingLR(o, 5)], milestones=[2]); [(o.step(), r.step()) for _ in range(3)]; r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=1.0); r = torch.optim.lr_scheduler.CyclicLR(o, 0.1, 1.0, step_size_up=2); o.step(); r.step(); r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = torch.optim.SGD([w], lr=1.0); r = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, T_0=5); o.step(); r.step(); r.get_last_lr()
w = nn.Parameter(torch.ones(3)); o = optim.SGD([w], lr=0.1); [((w**2).sum() / 2).backward() for _ in range(2)]; o.step(); o.zero_grad(); w
w = nn.Parameter(torch.ones(3)); (w**2).sum().backward(); nn.utils.clip_grad_value_([w], 0.5); w.grad
w = nn.Parameter(torch.ones(3)); (w**2).sum().backward(); nn.utils.clip_grad_norm_([w], max_norm=1.0, norm_type=2)
w = nn.Parameter(torch.ones(3)); (w**2).sum().backward(); torch.nn.utils.get_total_norm([w.grad])
w = nn.Parameter(torch.ones(3)); nn.utils.parameters_to_vector([w])
w = nn.Parameter(torch.ones(3)); (w**2).sum().backward(); sum(p.grad.data.norm(2).item() ** 2 for p in [w]) ** 0.5
len(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(a, b), batch_size=2))
D = torch.utils.data; x, y = next(iter(D.DataLoader(D.TensorDataset(a, labels), batch_size=2))); x, y
D = torch.utils.data; [x.shape for x, y in D.DataLoader(D.TensorDataset(a, labels), batch_size=2, drop_last=True)]
D = torch.utils.data; x = D.random_split(D.TensorDataset(a, labels), [2, 1]); len(x[0]), len(x[1])
D = torch.utils.data; x = D.random_split(range(10), [0.8, 0.2]); len(x[0]), len(x[1])
D = torch.utils.data; len(D.ConcatDataset([D.TensorDataset(a), D.TensorDataset(b)]))
D = torch.utils.data; D.Subset(D.TensorDataset(a), [0, 2])[1][0]
D = torch.utils.data; loader = D.DataLoader(D.TensorDataset(a, labels), batch_size=2); len(loader.dataset), loader.batch_size
D = torch.utils.data; [x for x in D.DataLoader([1, 2, 3, 4], batch_size=2)]
D = torch.utils.data; [x["k"] for x in D.DataLoader([{"k": 1.0}, {"k": 2.0}], batch_size=2)]
D = torch.utils.data; next(iter(D.DataLoader(a, batch_size=3, collate_fn=lambda rows: torch.stack(rows).sum())))
D = torch.utils.data; list(D.SequentialSampler(range(3))), sorted(D.RandomSampler(range(3)))
D = torch.utils.data; list(D.BatchSampler(D.SequentialSampler(range(5)), batch_size=2, drop_last=False))
net = nn.BatchNorm1d(4); x = net(a); net.running_mean
net = nn.BatchNorm1d(4); x = net(a); net.eval(); net(a)
net = nn.BatchNorm2d(2); net(s.unsqueeze(0)).shape, net.num_batches_tracked.item()
nn.GroupNorm(3, 3)(s)
nn.Flatten()(s).shape
nn.Unflatten(1, (2, 2))(a).shape
nn.Softmax(dim=1)(a)
nn.LogSoftmax(dim=-1)(a)
nn.LeakyReLU(0.2)(a)
nn.GELU()(a)
nn.SiLU()(a)
nn.Tanh()(a), nn.Sigmoid()(a)
nn.PReLU()(a)
nn.MaxPool2d(2)(s.unsqueeze(0))
nn.AvgPool1d(2)(s)
nn.AdaptiveAvgPool2d((1, 1))(s.unsqueeze(0)).shape
nn.Upsample(scale_factor=2)(s.unsqueeze(0)).shape
nn.ZeroPad2d(1)(s.unsqueeze(0)).shape
nn.LSTM(4, 5, batch_first=True)(s)[0].shape
nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True)(s)[1][0].shape
nn.GRU(4, 5)(s)[1].shape
out, (h, c) = nn.LSTM(4, 5)(s); h.shape, c.shape
nn.RNN(4, 5, nonlinearity="relu")(s)[0].shape
nn.LSTMCell(4, 5)(a)[0].shape
nn.MultiheadAttention(4, 2, batch_first=True)(s, s, s)[0].shape
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)(s).shape
nn.TransformerEncoderLayer(d_model=4, nhead=2, dim_feedforward=8, batch_first=True)(s).shape
nn.Transformer.generate_square_subsequent_mask(3)
nn.Embedding(10, 4, padding_idx=0).weight[0]
nn.Embedding.from_pretrained(a)(torch.tensor([1]))
nn.Bilinear(4, 4, 2)(a, b).shape
nn.Conv1d(3, 2, 3)(s).shape
nn.Conv2d(2, 4, (2, 3), stride=(1, 2), padding="valid")(s.unsqueeze(0)).shape
nn.ConvTranspose2d(2, 3, 2, stride=2)(s.unsqueeze(0)).shape
nn.CrossEntropyLoss(reduction="none")(a, labels)
nn.CrossEntropyLoss(label_smoothing=0.1)(a, labels)
nn.BCELoss()(a.sigmoid(), mask.double())
nn.BCEWithLogitsLoss()(a, mask.double())
nn.NLLLoss()(a.log_softmax(1), labels)
nn.KLDivLoss(reduction="batchmean")(a.log_softmax(1), b.softmax(1))
nn.L1Loss()(a, b), nn.SmoothL1Loss()(a, b), nn.HuberLoss()(a, b)
nn.CosineSimilarity(dim=1)(a, b)
nn.TripletMarginLoss(margin=1.0)(a, b, a + b)
nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True)
x = nn.utils.rnn.pad_sequence([torch.ones(2, 1), torch.ones(3, 1)], batch_first=True, padding_value=-1.0); x
nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))(a).shape
device = torch.device("cpu"); nn.Linear(4, 2).to(device)(a.to(device)).shape
a.to(b.device).device == b.device
a.to(dtype=torch.float32).dtype == torch.float32
a.cpu().numpy()
a.detach().cpu().numpy().shape
a.sum().detach().cpu().item()
a.numpy()
a.float().numpy().dtype.name
a.device == torch.device("cpu")
str(a.device)
net = nn.Linear(4, 2); net.zero_grad(); net.weight.grad is None
net = nn.Linear(4, 2); net.train(False).training
net = nn.Linear(4, 2); isinstance(net, nn.Module), isinstance(net.weight, nn.Parameter), isinstance(net.weight, torch.Tensor)
net = nn.Linear(4, 2); net.half().weight.dtype == torch.float16
net = nn.Linear(4, 2); net.float().weight.dtype == torch.float32
net = nn.Linear(4, 2); net.weight.shape, net.weight.data.shape
net = nn.Linear(4, 2); exec("with torch.no_grad():\n    net.weight.fill_(0.5)\n    net.bias.zero_()"); net(a)
net = nn.Linear(4, 2); exec("with torch.no_grad():\n    net.weight.copy_(torch.ones(2, 4))"); net.weight
net = nn.Linear(4, 2); net.weight = nn.Parameter(torch.ones(2, 4)); net.bias = None; net(a)
net = nn.Linear(4, 2); net.weight.data = torch.ones(2, 4); net.weight
net = nn.Sequential(nn.Linear(4, 2)); next(net.parameters()).device.type, next(net.parameters()).dtype == torch.float64
net = nn.Sequential(nn.Linear(4, 2)); dict(net.named_parameters())["0.weight"].shape
net = nn.Sequential(nn.Linear(4, 2)); [type(x).__name__ for x in net.modules()]
net = nn.Sequential(nn.Linear(4, 2)); net.get_submodule("0").out_features
net = nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)); net.eval(); (net(a) - net(a)).abs().max().item()
"""
