"""A state of PyTorch's loads as it is, and gives PyTorch's values; `scripts/torch_state.py` made the file."""

from pathlib import Path

import numpy as np

from adjoint import io, nn

FILE = Path(__file__).parent / "torch_state.safetensors"


class Net(nn.Module):
    def __init__(self):
        single = {"rng": 0, "dtype": np.float32}
        self.conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(3, 4, 3, padding=1, **single))
        self.norm = nn.BatchNorm1d(4, dtype=np.float32)
        self.rnn = nn.LSTM(4, 5, num_layers=2, batch_first=True, bidirectional=True, **single)
        self.attention = nn.TransformerEncoderLayer(10, 2, 16, batch_first=True, **single)
        self.head = nn.utils.parametrizations.spectral_norm(nn.Linear(10, 2, **single), rng=0)

    def forward(self, x):
        x = self.norm(self.conv(x)).transpose(1, 2)
        return self.head(self.attention(self.rnn(x)[0]))


def test_a_state_of_pytorchs_gives_its_values():
    state = io.load(FILE)
    x, y = state.pop("x"), state.pop("y")
    net = Net().eval()
    assert set(net.state_dict()) == set(state)
    net.load_state_dict(state)
    np.testing.assert_allclose(net(x).detach().numpy(), y, rtol=1e-4, atol=1e-5)


def test_a_state_of_ours_has_pytorchs_names_shapes_and_dtypes(tmp_path):
    net = Net().eval()
    io.save(tmp_path / "ours.safetensors", net.state_dict())
    ours, theirs = io.load(tmp_path / "ours.safetensors"), io.load(FILE)
    found = {name: (x.shape, x.dtype) for name, x in ours.items()}
    assert found == {name: (x.shape, x.dtype) for name, x in theirs.items() if name not in "xy"}
