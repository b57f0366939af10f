"""Arrays in safetensors files: what goes in comes out; bad files are refused; a failed write leaves the old file."""

from __future__ import annotations

import os

import numpy as np
import pytest

import adjoint as ad
from adjoint import io, nn


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", ">f8"])
def test_dtypes_and_layouts_survive(dtype, tmp_path):
    path, a = tmp_path / "a.safetensors", np.arange(24).reshape(2, 3, 4).astype(dtype)
    state = {"plain": a, "transposed": a.T, "strided": a[:, ::2, ::-1], "scalar": a[1, 2, 3], "empty": a[:0]}
    io.save(path, state)
    loaded = io.load(path)
    assert list(loaded) == sorted(state)
    for name, value in state.items():
        np.testing.assert_array_equal(loaded[name], value)
        assert loaded[name].shape == np.shape(value)
        assert loaded[name].dtype == np.dtype(dtype).newbyteorder("=")


def test_a_flat_state_is_an_ordinary_safetensors_file(tmp_path):
    from safetensors.numpy import load_file, save_file

    io.save(tmp_path / "a.safetensors", {"w": ad.tensor([1.0, 2.0], requires_grad=True)})
    np.testing.assert_array_equal(load_file(tmp_path / "a.safetensors")["w"], [1, 2])
    save_file({"w": np.ones(2)}, tmp_path / "b.safetensors")
    assert io.load(tmp_path / "b.safetensors")["w"].tolist() == [1, 1]


def test_nested_state_keeps_its_structure(tmp_path):
    state = {
        "step": 3,
        "lr": 0.1,
        "name": "array:w",
        "none": None,
        "flags": [True, False],
        "deep": {"w": np.ones(2), "l": [np.zeros(1), 2]},
    }
    io.save(tmp_path / "s.safetensors", state, metadata={"note": "hello"})
    loaded = io.load(tmp_path / "s.safetensors")
    assert {k: v for k, v in loaded.items() if k != "deep"} == {k: v for k, v in state.items() if k != "deep"}
    assert loaded["deep"]["w"].tolist() == [1, 1]
    assert loaded["deep"]["l"][0].tolist() == [0]
    assert loaded["deep"]["l"][1] == 2


def test_a_network_comes_back(tmp_path):
    a, b = (nn.Sequential(nn.Linear(3, 4, rng=seed), nn.LayerNorm(4)) for seed in (0, 1))
    io.save(tmp_path / "m.safetensors", a.state_dict())
    b.load_state_dict(io.load(tmp_path / "m.safetensors"))
    np.testing.assert_array_equal(a(np.ones((1, 3))).numpy(), b(np.ones((1, 3))).numpy())


@pytest.mark.parametrize("content", [b"", b"not a safetensors file at all", b"\xff" * 64, b"\x02\0\0\0\0\0\0\0{}extra"])
def test_bad_files_are_refused(content, tmp_path):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(ad.DataError, match=r"bad\.safetensors"):
        io.load(path)


def test_a_truncated_file_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    io.save(path, {"w": np.ones(100)})
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(ad.DataError):
        io.load(path)


def test_a_missing_file_or_a_folder_is_refused(tmp_path):
    with pytest.raises(ad.DataError, match="no such file"):
        io.load(tmp_path / "none")
    with pytest.raises(ad.DataError):
        io.load(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    io.save(path, {"w": np.ones(2)})

    def fail(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="full"):
        io.save(path, {"w": np.zeros(2)})
    assert io.load(path)["w"].tolist() == [1, 1]
    assert os.listdir(tmp_path) == ["a.safetensors"]


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        ({"w": np.ones(2, complex)}, ad.DTypeError, "w has dtype complex128"),
        ({"w": np.array(["a"])}, ad.DTypeError, "w has dtype"),
        ({"w": object()}, ad.ArgumentError, "w is object"),
        ({1: np.ones(2)}, ad.ArgumentError, "Write '1'"),
        ({"a": {"b": np.ones(1)}, "a.b": np.ones(1)}, ad.ArgumentError, "both be called"),
    ],
)
def test_what_a_file_cannot_hold_is_refused_before_anything_is_written(state, error, words, tmp_path):
    with pytest.raises(error, match=words):
        io.save(tmp_path / "a", state)
    assert os.listdir(tmp_path) == []


def test_arrays_are_read_onto_the_cpu_as_pytorchs_users_say(tmp_path):
    ad.save({"w": np.ones(2)}, tmp_path / "w.safetensors")
    assert ad.load(tmp_path / "w.safetensors", map_location="cpu", weights_only=False)["w"].tolist() == [1.0, 1.0]
    with pytest.raises(ad.ArgumentError, match="onto the CPU"):
        ad.load(tmp_path / "w.safetensors", map_location="cuda:0")
