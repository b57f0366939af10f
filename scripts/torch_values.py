"""Values and gradients of PyTorch's for the cases of `tests/nn/table.py`: into `tests/nn/torch_values.npz`.

Needs the extra `bench`. ``python scripts/torch_values.py``
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.nn import table  # noqa: E402 - it stands beside the tests


def tensor(x):
    return torch.from_numpy(np.array(x)) if isinstance(x, np.ndarray) else x


def values(number, case):
    """What PyTorch gives for a case: by name of what it is."""
    arrays, options = table.arrays_of(number, case)
    options = {name: tensor(value) for name, value in options.items()}
    inputs = [tensor(x).requires_grad_(table.varies(kind)) for x, kind in zip(arrays, case["x"], strict=True)]
    found = {}
    if case["name"].startswith(table.F):
        state = {}
        function = getattr(torch.nn.functional, case["name"].removeprefix(table.F))
        result = function(*inputs, *case["args"], **options)
        parameters = {}
    else:
        module = getattr(torch.nn, case["name"])(*case["args"], **options).double()
        shapes = {name: tuple(value.shape) for name, value in module.state_dict().items()}
        state = table.state_of(
            number, {n: s for n, s in shapes.items() if n not in ("pos_weight",) and n not in options}
        )
        module.load_state_dict({name: tensor(value) for name, value in state.items()}, strict=False)
        module.train(case.get("train", True))
        parameters = dict(module.named_parameters())
        result = module(*inputs)
        found |= {f"state/{name}": np.array(shape) for name, shape in shapes.items()}
    results = table.leaves(result)
    wanted = [r for r in results if r.dtype.is_floating_point and r.requires_grad]
    weights = table.cotangents(number, [tuple(r.shape) for r in wanted])
    sum((r * tensor(w)).sum() for r, w in zip(wanted, weights, strict=True)).backward()
    found |= {f"out/{i}": r.detach().numpy() for i, r in enumerate(results)}
    found |= {f"x/{i}": x.grad.numpy() for i, x in enumerate(inputs) if x.grad is not None}
    found |= {f"grad/{name}": p.grad.numpy() for name, p in parameters.items() if p.grad is not None}
    if not case["name"].startswith(table.F):
        found |= {f"after/{name}": b.numpy() for name, b in module.named_buffers() if "running" in name}
    return found


def trained(which, options):
    """Parameters after each step of an optimiser."""
    start, gradients = table.start_of_training()
    parameters = [torch.nn.Parameter(tensor(x)) for x in start]
    optimizer = getattr(torch.optim, which)(parameters, **options)
    found = []
    for step in gradients:
        for p, g in zip(parameters, step, strict=True):
            p.grad = tensor(g)
        optimizer.step()
        found.append(np.concatenate([p.detach().numpy().ravel() for p in parameters]))
    return np.stack(found)


def schedules():
    """Learning rates under each schedule."""
    schedulers = torch.optim.lr_scheduler

    def sgd():
        return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3, momentum=0.9)

    for number, (which, args, options) in enumerate(table.SCHEDULES):
        yield f"schedule/{number}", table.rates(schedulers, sgd(), which, args, options)
    for chained in (False, True):
        yield f"composed/{int(chained)}", table.composed(schedulers, sgd(), chained)
    for number, options in enumerate(table.PLATEAUS):
        yield f"plateau/{number}", table.plateau(schedulers, sgd(), options)


def averages():
    """What keeps averages of weights, and orthogonal weights."""
    swa = torch.optim.swa_utils
    for number, (last, options) in enumerate(table.SWA_RATES):
        groups = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": lr} for lr in (0.3, 0.2)]
        yield f"swa/{number}", table.swa_rates(swa.SWALR, torch.optim.SGD(groups), last, options)
    for number, options in enumerate(table.AVERAGES):
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)).double()
        shapes = {name: tuple(value.shape) for name, value in model.state_dict().items()}
        model.load_state_dict({n: tensor(v) for n, v in table.state_of(number, shapes).items()})
        batches = [tensor(x) for x in np.random.default_rng(5).normal(size=(4, 6, 2))]
        for when, state in enumerate(table.averaged(swa, model, batches, options)):
            yield from ((f"averaged/{number}/{when}/{name}", value) for name, value in state.items())
    for number, (shape, way, trivial) in enumerate(table.ORTHOGONAL):
        torch.manual_seed(number)
        holder = torch.nn.Module()
        holder.weight = torch.nn.Parameter(tensor(np.random.default_rng(number).normal(size=shape)))
        torch.nn.utils.parametrizations.orthogonal(holder, "weight", way, use_trivialization=trivial)
        made, original = holder.parametrizations.weight[0], holder.parametrizations.weight.original
        yield f"orthogonal/{number}/begin", original.detach().clone().numpy()
        with torch.no_grad():
            original += tensor(0.3 * np.random.default_rng(50 + number).normal(size=shape)).tril(-1)
        weight = made(original)
        (weight * tensor(np.random.default_rng(90 + number).normal(size=shape))).sum().backward()
        found = {"original": original, "weight": weight, "grad": original.grad, **dict(made.named_buffers())}
        yield from ((f"orthogonal/{number}/{name}", x.detach().numpy()) for name, x in found.items())


def main():
    everything = {}
    warnings.simplefilter("ignore")
    for number, case in enumerate(table.CASES):
        name = table.identifier(number, case)
        everything |= {f"{name}/{key}": value for key, value in values(number, case).items()}
    everything |= {f"optimiser/{n}": trained(*case) for n, case in enumerate(table.OPTIMISERS)}
    everything |= {name: np.array(found) for part in (schedules(), averages()) for name, found in part}
    np.savez_compressed(ROOT / "tests/nn/torch_values.npz", **everything)
    print(f"{len(table.CASES)} cases, {len(everything)} arrays, by PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
