"""A state of PyTorch's in a safetensors file, and what the network gives: into `tests/nn/torch_state.safetensors`.

Needs the extra `bench`. ``python scripts/torch_state.py`` writes the file; with a file of adjoint's as its argument, it
loads that and compares.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

FILE = Path(__file__).parents[1] / "tests/nn/torch_state.safetensors"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 3, padding=1))
        self.norm = nn.BatchNorm1d(4)
        self.rnn = nn.LSTM(4, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.attention = nn.TransformerEncoderLayer(10, 2, 16, batch_first=True)
        self.head = nn.utils.parametrizations.spectral_norm(nn.Linear(10, 2))

    def forward(self, x):
        x = self.norm(self.conv(x)).transpose(1, 2)
        return self.head(self.attention(self.rnn(x)[0]))


def main():
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(2, 3, 7)
    if len(sys.argv) > 1:
        state = load_file(sys.argv[1])
        x, y = state.pop("x"), state.pop("y")
        net.load_state_dict(state)
        torch.testing.assert_close(net(x), y, rtol=1e-4, atol=1e-5)
        print("PyTorch gives what adjoint gave")
        return
    state = {name: value.contiguous() for name, value in net.state_dict().items()}
    save_file(state | {"x": x, "y": net(x).detach()}, FILE)
    print(f"{FILE.name}: {len(state)} tensors, by PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
