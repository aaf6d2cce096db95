"""The recipes of docs/external_methods.md run as they stand there, on stand-ins for programs that cannot be part of the package."""

import json
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer
import yaml
from cli_parts import invoke
from networks import write_network

from stereo_framework import run
from stereo_framework.cli.main import app
from stereo_framework.core.scene import Scene
from stereo_framework.io import write_disparity, write_image
from stereo_framework.script import load

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "external_methods.md").read_text()
FILES = dict(re.findall(r"```(?:yaml|python)\n# (\S+)\n(.*?)```", PAGE, re.DOTALL))
ELAS = """#!/bin/sh
# Tells the caller's mistakes, and writes the disparity 3 everywhere but in the first pixel of the last row, which comes first in PFM.
head -c 2 $1 | grep -q P5 || { echo "$1: no PGM" >&2; exit 1; }
[ "$4 $5" = "0 8" ] || { echo "range $4 $5" >&2; exit 1; }
printf 'Pf\\n32 24\\n-1\\n\\000\\000\\040\\301' > $3
i=1; while [ $i -lt 768 ]; do printf '\\000\\000\\100\\100'; i=$((i + 1)); done >> $3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The page's files, and what they name."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "elas").write_text(ELAS)
    (tmp_path / "elas").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def scene():
    """A texture in colour with the disparity 3 everywhere."""
    wide = np.random.default_rng(0).integers(0, 256, (24, 35, 3), dtype=np.uint8)
    return Scene.from_images(
        wide[:, :32], wide[:, 3:], (0, 8), name="set/made", truth=np.full((24, 32), 3, np.float32)
    )


def test_a_network(folder, scene):
    write_network(folder / "raft.onnx", output="flow")
    [found] = run("raft.yaml", scene)
    expected = scene.match.mean(axis=2) - scene.reference.mean(axis=2)
    np.testing.assert_allclose(found.disparity, expected, atol=1e-3)


@pytest.mark.skipif(os.name != "posix", reason="the program is a shell script")
def test_a_program(folder, scene):
    [found] = run("elas.yaml", scene)
    expected = np.full((24, 32), 3, np.float32)
    expected[-1, 0] = np.nan
    np.testing.assert_array_equal(found.disparity, expected)
    assert found.statistics["peak_memory"] > 0


def test_a_function(folder, scene):
    [found] = run("opencv.yaml", scene)
    # OpenCV leaves out as many columns as it searches levels, 16, and checks that matches are unique.
    inner = found.disparity[3:-3, 17:-3]
    assert np.isfinite(inner).mean() > 0.5
    # Sixteenths of pixels.
    assert abs(np.nanmedian(inner) - 3) <= 1 / 16


def test_a_whole_table_in_one_command(folder, monkeypatch):
    monkeypatch.setattr(
        "stereo_framework.figures.disparity_figures.write_pictures", lambda *_: None
    )
    (folder / "maps").mkdir()
    for name in ("one", "two"):
        wide = np.random.default_rng(len(name)).integers(0, 256, (24, 35), dtype=np.uint8)
        (folder / name).mkdir()
        write_image(folder / name / "left.png", wide[:, :32])
        write_image(folder / name / "right.png", wide[:, 3:])
        write_disparity(folder / name / "truth.pfm", np.full((24, 32), 3, np.float32))
        write_image(folder / name / "nonocc.png", np.full((24, 32), 255, np.uint8))
        lines = [
            "frames: [left.png, right.png]",
            "search: {minimum: 0, maximum: 8}",
            "truth: truth.pfm",
            "masks: {nonocc: nonocc.png}",
        ]
        (folder / name / "scene.yaml").write_text("\n".join(lines))
        write_disparity(folder / "maps" / f"{name}.pfm", np.full((24, 32), 3, np.float32))
    script = yaml.safe_load(FILES["networks.yaml"])
    assert list(script["methods"]) == [
        "mine",
        "theirs",
        "elas",
        "sgm",
        "sgbm",
        "bm",
        "census",
        "window",
    ]
    if os.name != "posix":
        del script["methods"]["elas"]
    (folder / "networks.yaml").write_text(
        yaml.safe_dump(script | {"scenes": ["one", "two"]}, sort_keys=False)
    )
    result = invoke("run", "networks.yaml", "--out", "out", "--report")
    assert result.exit_code == 0, result.output
    # An average of each method under each of three protocols.
    assert result.stdout.count("average of 2") == 3 * len(script["methods"])
    page = (folder / "out/report.html").read_text()
    for said in (
        "Ranks, protocol middlebury-v3",
        "A* group",
        "ROC curves, mean of 2 scenes",
        "of protocol profile",
    ):
        assert said in page, said
    ranked = json.loads(invoke("rank", "out", "--where", "protocol=middlebury-v3", "--json").stdout)
    assert {one["method"]: one["rank"] for one in ranked}["mine"] == 1


def test_the_first_script_of_the_page(folder):
    text = re.search(r"```yaml\n(scenes:.*?)```", PAGE, re.DOTALL)[1]
    (folder / "net.onnx").write_text("")
    (folder / "network").mkdir()
    (folder / "theirs.py").write_text("")
    (folder / "all.yaml").write_text(text)
    assert [r.method for r in load("all.yaml").settings] == [
        "network",
        "elas",
        "exported",
        "function",
        "sgm",
    ]


def test_the_commands_of_the_page_are_commands():
    subcommands = typer.main.get_command(app).commands
    commands = re.findall(r"stereo-framework (\w.*?)(?=[`\n])", PAGE)
    assert len(commands) > 5
    for name, *arguments in map(shlex.split, commands):
        subcommands[name].make_context(name, arguments)


def test_the_keys_of_a_scene_file_are_those_of_the_table():
    from stereo_framework.datasets.scene_schema import SceneEntry

    table = PAGE.partition("| key | meaning |")[2].partition("\n\n")[0]
    told = re.findall(
        r"`(\w+)`",
        "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `")),
    )
    assert told == list(SceneEntry.model_fields)
