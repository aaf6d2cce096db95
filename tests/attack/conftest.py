"""A folder in which commands write, made once."""

import shutil

import numpy as np
import pytest
import yaml
from attack.written import CALIB, METHOD, SCENE, SCRIPT, SECRET, call

from stereo_framework.figures import disparity_figures
from stereo_framework.io import write_disparity, write_image


@pytest.fixture
def pictures():
    """For tests in which other processes draw the pictures of maps."""


def _one_picture(stem, disparity, *_):
    """Drawing all takes longer than the rest: one is written where and as all are."""
    write_image(stem.with_name(f"{stem.name}_overview.png"), disparity)


@pytest.fixture(autouse=True)
def _few_pictures(request, monkeypatch):
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr(disparity_figures, "write_pictures", _one_picture)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A data root with a scene, a script, images, and a results folder of the script; nobody writes to it."""
    home = tmp_path_factory.mktemp("made")
    image = np.random.default_rng(0).integers(0, 256, (48, 67, 3), dtype=np.uint8)
    folder = home / "root" / SCENE
    folder.mkdir(parents=True)
    for view, first in ((0, 0), (1, 3)):
        write_image(folder / f"im{view}.png", image[:, first : first + 64])
        shutil.copy(folder / f"im{view}.png", home / ("left.png", "right.png")[view])
    write_disparity(folder / "disp0GT.pfm", np.full((48, 64), 3, np.float32))
    write_image(folder / "mask0nocc.png", np.full((48, 64), 255, np.uint8))
    (folder / "calib.txt").write_text(CALIB)
    (home / "sw.yaml").write_text(yaml.safe_dump(SCRIPT, sort_keys=False))
    parts = {
        **SCRIPT,
        "methods": {"a": {"scheme": {"use": "tiles", "tile_size": 32, "overlap": 8}}},
    }
    (home / "tiled.yaml").write_text(yaml.safe_dump(parts, sort_keys=False))
    swept = {**METHOD, "scenes": [SCENE], "sweep": {"grid": {"aggregation.box.size": [3, 5]}}}
    (home / "swept.yaml").write_text(yaml.safe_dump(swept, sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEREO_DATA", str(home / "root"))
        patch.setattr(disparity_figures, "write_pictures", _one_picture)
        assert call("run", home / "sw.yaml", "--out", home / "o").exit_code == 0
    return home


@pytest.fixture
def home(made, tmp_path, monkeypatch):
    """A copy of it to work in, with a folder of somebody else beside the results."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("STEREO_DATA", str(tmp_path / "root"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim/bashrc").write_bytes(SECRET)
    return tmp_path
