"""The weights of ONNX networks may lie in other files, and these decide a run as the model does."""

import importlib
import importlib.util
import os
import shutil

import numpy as np
import onnx as onnx_package
import pytest
from networks import PARTS_WITH_WEIGHTS, external_tensor, move_weights, write_network, write_weights

from stereo_framework import SearchRange, step
from stereo_framework.core.errors import ParameterError, ScriptError
from stereo_framework.matcher import onnx
from stereo_framework.script import load

SEARCH = SearchRange(0, 5)
LEFT = np.random.default_rng(1).integers(0, 256, (4, 6, 3), dtype=np.uint8)
RIGHT = np.random.default_rng(2).integers(0, 256, (4, 6, 3), dtype=np.uint8)


def _write_model(path, location, factor=1.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    write_network(path)
    move_weights(path, location)
    write_weights(path.parent / location, factor)


def _mean_of_output(path):
    return float(onnx(LEFT, RIGHT, SEARCH, model=str(path)).mean())


@pytest.mark.parametrize(
    "location",
    ["weights.bin", "sub/weights.bin", "./weights.bin", "sub/../net[1].onnx.data", "ü *?.bin"],
)
def test_files_of_a_network_include_its_weights_wherever_they_lie(tmp_path, location):
    (tmp_path / "sub").mkdir()
    model = tmp_path / "net[1].onnx"
    _write_model(model, location)
    (tmp_path / "net1.onnx.data").write_text("of another network")
    (tmp_path / "other.onnx").write_text("another network")
    assert step(onnx, model=str(model)).files() == (model, tmp_path / location)


@pytest.mark.parametrize("part", PARTS_WITH_WEIGHTS)
def test_files_of_a_network_include_tensors_of_all_parts_of_the_model(tmp_path, part):
    path = tmp_path / "net.onnx"
    write_network(path)
    model = onnx_package.load(str(path))
    PARTS_WITH_WEIGHTS[part](model, "sub/weights.bin")
    path.write_bytes(model.SerializeToString())
    write_weights(tmp_path / "sub" / "weights.bin", 1.0)
    assert step(onnx, model=str(path)).files() == (path, tmp_path / "sub" / "weights.bin")


def test_tensors_inside_the_model_name_no_files(tmp_path):
    path = tmp_path / "net.onnx"
    write_network(path)
    model = onnx_package.load(str(path))
    tensor = external_tensor("gone.bin", name="inside")
    tensor.data_location = onnx_package.TensorProto.DEFAULT
    tensor.raw_data = bytes(4)
    model.graph.initializer.append(tensor)
    path.write_bytes(model.SerializeToString())
    assert step(onnx, model=str(path)).files() == (path,)


@pytest.mark.skipif(os.name != "posix", reason="links")
@pytest.mark.parametrize(
    "location",
    ["../weights.bin", "{folder}/weights.bin", "{folder}/models/weights.bin", "link.bin"],
)
def test_weights_outside_the_folder_of_the_network_are_refused(tmp_path, location):
    folder = tmp_path / "models"
    folder.mkdir()
    for place in (tmp_path, folder):
        write_weights(place / "weights.bin", 1.0)
    (folder / "link.bin").symlink_to(tmp_path / "weights.bin")
    location = location.format(folder=tmp_path)
    write_network(folder / "net.onnx")
    move_weights(folder / "net.onnx", location)
    with pytest.raises(
        ParameterError,
        match=r"net\.onnx keeps weights in .*(weights|link)\.bin', outside its folder",
    ):
        step(onnx, model=str(folder / "net.onnx")).files()


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_a_network_and_its_weights_may_be_links_to_files_in_one_folder(tmp_path):
    # Downloads of Hugging Face look like this.
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    write_network(tmp_path / "blobs" / "aaaa")
    move_weights(tmp_path / "blobs" / "aaaa", "weights.bin")
    write_weights(tmp_path / "blobs" / "bbbb", 2.0)
    (tmp_path / "snapshot" / "net.onnx").symlink_to(tmp_path / "blobs" / "aaaa")
    (tmp_path / "snapshot" / "weights.bin").symlink_to(tmp_path / "blobs" / "bbbb")
    model = tmp_path / "snapshot" / "net.onnx"
    assert step(onnx, model=str(model)).files() == (model, tmp_path / "snapshot" / "weights.bin")


@pytest.mark.parametrize("changed", ["the model", "its weights"])
@pytest.mark.parametrize("size", ["small", "large"])
def test_a_network_is_loaded_again_after_any_of_its_files_changed(tmp_path, changed, size):
    model = tmp_path / "net.onnx"
    weights = tmp_path / "weights.bin"
    padding = bytes(2 << 20) if size == "large" else b""
    _write_model(model, "weights.bin", factor=1.0)
    weights.write_bytes(weights.read_bytes() + padding)
    first = _mean_of_output(model)

    if changed == "its weights":
        times = weights.stat()
        write_weights(weights, 3.0)
        weights.write_bytes(weights.read_bytes() + padding)
        # A copy that preserves times has the size and the time of the earlier file.
        os.utime(weights, ns=(times.st_atime_ns, times.st_mtime_ns))
    else:
        times = model.stat()
        write_network(model, factor=3.0)
        os.utime(model, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert _mean_of_output(model) == pytest.approx(3 * first, rel=1e-4)


def test_a_network_in_another_folder_reads_the_weights_of_that_folder(tmp_path):
    _write_model(tmp_path / "a" / "net.onnx", "weights.bin", factor=1.0)
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    write_weights(tmp_path / "b" / "weights.bin", 3.0)
    first, second = (_mean_of_output(tmp_path / folder / "net.onnx") for folder in "ab")
    assert second == pytest.approx(3 * first, rel=1e-4)


def test_missing_weights_are_refused_before_anything_runs(tmp_path):
    _write_model(tmp_path / "net.onnx", "weights.bin")
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(
        ScriptError,
        match=r"net\.onnx keeps weights in 'weights\.bin', but there is no file .*weights\.bin; copy it there",
    ):
        load({"matcher": {"use": "onnx", "model": str(tmp_path / "net.onnx")}})


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path, monkeypatch, package
):
    find_spec = importlib.util.find_spec
    module = importlib.import_module("stereo_framework.matcher.onnx")
    monkeypatch.setattr(
        module, "find_spec", lambda name: None if name == package else find_spec(name)
    )
    write_network(tmp_path / "net.onnx")
    with pytest.raises(ParameterError, match=rf"onnx needs {package}: pip install '\.\[onnx\]'"):
        step(onnx, model=str(tmp_path / "net.onnx")).files()
