"""Training programs as PyTorch's users write them.

`torch` is PyTorch where their losses are made (`scripts/torch_habits.py`), and adjoint where they are tested. Each
program gives figures, most of them losses. Numbers that are drawn come from NumPy.
"""

import copy
import tempfile
from pathlib import Path

import numpy as np


def data(torch, *shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def whole(torch, high, *shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).integers(0, high, size=shape))


def begun(torch, model, seed=0):
    """The model with parameters that the seed decides."""
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for _, p in sorted(model.named_parameters()):
            p.copy_(torch.from_numpy(np.asarray(0.3 * rng.normal(size=tuple(p.shape)))))
    return model


def classifier_with_batches_of_tensors(torch):
    nn, functional = torch.nn, torch.nn.functional
    dataset = torch.utils.data.TensorDataset(data(torch, 96, 10), whole(torch, 3, 96))
    loader = torch.utils.data.DataLoader(dataset, batch_size=16)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    class Net(nn.Module):
        def __init__(self, inputs, hidden, outputs):
            super().__init__()
            self.first, self.second = nn.Linear(inputs, hidden), nn.Linear(hidden, outputs)

        def forward(self, x):
            return self.second(functional.relu(self.first(x)))

    model = begun(torch, Net(10, 32, 3).to(torch.float64)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    criterion, figures = nn.CrossEntropyLoss(), []
    for _ in range(3):
        running, correct, total = 0.0, 0, 0
        for x, y in loader:
            x, y = x.to(device, non_blocking=True), y.to(device)
            optimizer.zero_grad()
            logits = model(x)
            loss = criterion(logits, y)
            loss.backward()
            optimizer.step()
            running += loss.item() * x.size(0)
            _, predicted = logits.max(dim=1)
            correct += predicted.eq(y.view_as(predicted)).sum().item()
            total += y.size(0)
        figures += [running / len(dataset), correct / total]
    return figures


def samples_of_several_lengths(torch):
    nn, utils = torch.nn, torch.utils.data

    class Sequences(utils.Dataset):
        def __init__(self, count):
            self.items = [(whole(torch, 9, 3 + i % 4, seed=i) + 1, i % 2) for i in range(count)]

        def __len__(self):
            return len(self.items)

        def __getitem__(self, i):
            return self.items[i]

    class ByLength(utils.Sampler):
        def __init__(self, dataset):
            self.dataset = dataset

        def __iter__(self):
            return iter(sorted(range(len(self.dataset)), key=lambda i: len(self.dataset[i][0])))

        def __len__(self):
            return len(self.dataset)

    def collate(batch):
        sequences, labels = zip(*batch, strict=True)
        lengths = torch.tensor([len(x) for x in sequences])
        return nn.utils.rnn.pad_sequence(sequences, batch_first=True), lengths, torch.tensor(labels)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(10, 5, padding_idx=0)
            self.lstm = nn.LSTM(5, 7, batch_first=True, bidirectional=True)
            self.out = nn.Linear(14, 2)

        def forward(self, x, lengths):
            packed = nn.utils.rnn.pack_padded_sequence(
                self.embedding(x), lengths, batch_first=True, enforce_sorted=False
            )
            _, (h, _) = self.lstm(packed)
            return self.out(torch.cat((h[-2], h[-1]), dim=1))

    dataset = Sequences(24)
    loader = utils.DataLoader(dataset, batch_size=6, sampler=ByLength(dataset), collate_fn=collate, num_workers=0)
    model = begun(torch, Net().to(torch.float64))
    optimizer, figures = torch.optim.Adamax(model.parameters(), lr=0.01), []
    weight = torch.tensor([1.0, 2.0], dtype=torch.float64)
    for _ in range(2):
        for x, lengths, y in loader:
            loss = nn.CrossEntropyLoss(weight=weight)(model(x, lengths), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            figures += [loss.item(), x.shape[1]]
    return figures


def gan_with_a_penalty(torch):
    nn = torch.nn
    generator = begun(torch, nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2)).to(torch.float64), 1)
    critic = begun(torch, nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)).to(torch.float64), 2)
    of_generator = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    of_critic = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.999))
    criterion, real, figures = nn.BCEWithLogitsLoss(), data(torch, 32, 2, seed=3) * 0.5 + 2, []
    for i in range(6):
        ones, zeros = torch.ones(32, 1, dtype=torch.float64), torch.zeros(32, 1, dtype=torch.float64)
        of_critic.zero_grad()
        fake = generator(data(torch, 32, 4, seed=10 + i))
        loss = criterion(critic(real), ones) + criterion(critic(fake.detach()), zeros)
        x = real.clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(outputs=critic(x).sum(), inputs=x, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        (loss + 0.1 * penalty).backward()
        of_critic.step()
        for p in critic.parameters():
            p.requires_grad_(False)
        of_generator.zero_grad()
        fooled = criterion(critic(fake), torch.ones_like(ones))
        fooled.backward()
        of_generator.step()
        for p in critic.parameters():
            p.requires_grad_(True)
        figures += [loss.item(), fooled.item(), penalty.item()]
    return figures


def maml(torch):
    nn, functional = torch.nn, torch.nn.functional
    model = begun(torch, nn.Sequential(nn.Linear(1, 10), nn.ReLU(), nn.Linear(10, 1)).to(torch.float64))
    meta, figures = torch.optim.Adam(model.parameters(), lr=1e-2), []
    for _ in range(4):
        meta.zero_grad()
        total = 0.0
        for task in range(3):
            x = torch.linspace(-3, 3, 10, dtype=torch.float64).unsqueeze(1)
            y = (1 + 0.3 * task) * torch.sin(x + 0.5 * task)
            fast = dict(model.named_parameters())
            for _ in range(2):
                loss = functional.mse_loss(torch.func.functional_call(model, fast, (x[:5],)), y[:5])
                slopes = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
                fast = {name: p - 0.05 * g for (name, p), g in zip(fast.items(), slopes, strict=True)}
            total = total + functional.mse_loss(torch.func.functional_call(model, fast, x[5:]), y[5:])
        (total / 3).backward()
        meta.step()
        figures.append(total.item())
    return figures


def optimizer_and_function_of_ones_own(torch):
    nn = torch.nn

    class Momentum(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1, momentum=0.9):
            super().__init__(params, {"lr": lr, "momentum": momentum})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"], state["buffer"] = 0, torch.zeros_like(p)
                    state["step"] += 1
                    state["buffer"].mul_(group["momentum"]).add_(p.grad)
                    p.add_(state["buffer"], alpha=-group["lr"] / state["step"])

    class StraightThrough(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return torch.sign(x) * scale

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * (x.abs() <= 1).to(g.dtype) * ctx.scale, None

    model = begun(torch, nn.Sequential(nn.Linear(4, 8), nn.Hardtanh(), nn.Linear(8, 3)).to(torch.float64))
    optimizer, figures = Momentum(model.parameters(), lr=0.05), []
    for i in range(8):
        out = StraightThrough.apply(model(data(torch, 10, 4, seed=i)), 2.0)
        loss = (out.mean(dim=0) - 0.3).pow(2).sum() + 0.1 * model(data(torch, 10, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        figures.append(loss.item())
        if i == 4:
            kept = copy.deepcopy(optimizer.state_dict())
            optimizer = Momentum(model.parameters(), lr=0.01)
            optimizer.load_state_dict(kept)
    return figures


def stopped_and_resumed(torch):
    nn, functional, utils = torch.nn, torch.nn.functional, torch.utils.data
    x, y, figures = data(torch, 32, 4), whole(torch, 3, 32), []

    def built():
        model = begun(torch, nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).to(torch.float64))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, amsgrad=True)
        return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)

    def epoch(model, optimizer, schedule):
        for xb, yb in utils.DataLoader(utils.TensorDataset(x, y), batch_size=8):
            optimizer.zero_grad()
            loss = functional.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
        schedule.step()
        figures.extend([loss.item(), schedule.get_last_lr()[0]])

    model, optimizer, schedule = built()
    for _ in range(4):
        epoch(model, optimizer, schedule)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "checkpoint.pt")
        parts = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict()}
        torch.save({"epoch": 4, "best": 0.5, **parts}, path)
        checkpoint = torch.load(path)
    model, optimizer, schedule = built()
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    schedule.load_state_dict(checkpoint["schedule"])
    for _ in range(checkpoint["epoch"], 8):
        epoch(model, optimizer, schedule)
    return [*figures, checkpoint["best"]]


def messages_on_a_graph(torch):
    nn, n = torch.nn, 12
    links = torch.from_numpy((np.random.default_rng(0).random((n, n)) < 0.3).astype(float))
    links = ((links + links.t()) > 0).to(torch.float64) + torch.eye(n, dtype=torch.float64)
    degree = links.sum(1)
    scale = degree.pow(-0.5)
    scale[torch.isinf(scale)] = 0.0
    normal = scale.view(-1, 1) * links * scale.view(1, -1)
    source, target = torch.nonzero(links, as_tuple=True)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight, self.out = nn.Parameter(torch.empty(5, 8)), nn.Linear(8, 3)
            self.gate = nn.Parameter(torch.empty(8, 1))

        def forward(self, x):
            h = torch.relu(normal @ (x @ self.weight))
            message = h[source] * torch.sigmoid(h[target] @ self.gate)
            return self.out(torch.zeros_like(h).index_add_(0, target, message) / degree.unsqueeze(1))

    model = begun(torch, Net().to(torch.float64))
    x, y, known = data(torch, n, 5), whole(torch, 3, n), torch.arange(n) < 8
    optimizer, figures = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4), []
    for _ in range(5):
        out = model(x)
        loss = nn.functional.cross_entropy(out[known], y[known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        figures += [loss.item(), (out[~known].argmax(dim=1) == y[~known]).float().mean().item()]
    return figures


PROGRAMS = (
    *(classifier_with_batches_of_tensors, samples_of_several_lengths, gan_with_a_penalty, maml),
    *(optimizer_and_function_of_ones_own, stopped_and_resumed, messages_on_a_graph),
)
