"""A method or plug-in that changes the current folder, as many research programs do, loses nothing."""

import json
import os
import shutil

import numpy as np
import pytest
import yaml
from cli_parts import invoke

import stereo_framework
from stereo_framework.io import write_disparity, write_image

METHOD = {
    "matching_cost": "absolute_difference",
    "aggregation": ["box"],
    "optimization": "winner_take_all",
}
STAGE = '''
import os
from pathlib import Path
from stereo_framework.stages import stage

AT_IMPORT = {at_import!r}
if AT_IMPORT:
    os.chdir(AT_IMPORT)


@stage("refinement", source="a test")
def leaves(disparity, *, number: int = 0):
    """Change the current folder."""
    os.chdir({in_stage!r})
    return disparity
'''


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The user's folder, with images, a scene, and another folder to which a method goes."""
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "elsewhere").mkdir()
    image = np.random.default_rng(3).integers(0, 255, (24, 40), dtype=np.uint8)
    for folder in (home, home / "room"):
        folder.mkdir(exist_ok=True)
        write_image(folder / "left.png", image[:, :-3])
        write_image(folder / "right.png", image[:, 3:])
        write_disparity(folder / "truth.pfm", np.full((24, 37), 3, np.float32))
    scene = {
        "frames": ["left.png", "right.png"],
        "truth": "truth.pfm",
        "search": {"minimum": 0, "maximum": 6},
    }
    (home / "room/scene.yaml").write_text(yaml.safe_dump(scene))
    monkeypatch.chdir(home)
    monkeypatch.delenv("STEREO_DATA", raising=False)
    return home


@pytest.fixture(params=["at import", "in a stage"])
def script(request, home, tmp_path):
    """A script with a plug-in that changes the current folder."""
    elsewhere = str(tmp_path / "elsewhere")
    at_import = elsewhere if request.param == "at import" else ""
    in_stage = "." if at_import else elsewhere
    # Plug-ins are imported once in a process, so each test has one of its own.
    plugin = f"leaving_{tmp_path.name.replace('-', '_')}.py"
    (home / plugin).write_text(STAGE.format(at_import=at_import, in_stage=in_stage))
    stages = METHOD | {"plugins": [plugin], "refinement": ["leaves"], "search": {"maximum": 6}}
    (home / "leaving.yaml").write_text(yaml.safe_dump(stages))
    return stages


def files_below(folder):
    return sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )


def test_run_keeps_its_results_where_the_user_wants_them(home, tmp_path, script):
    swept = script | {
        "sweep": {"grid": {"refinement.leaves.number": [1, 2, 3]}},
        "report": {
            "tables": {
                "t": {
                    "rows": "scene",
                    "columns": "refinement.leaves.number",
                    "value": "bad_pixels_all",
                }
            }
        },
    }
    (home / "leaving.yaml").write_text(yaml.safe_dump(swept))
    (home / "second.yaml").write_text(yaml.safe_dump(METHOD))
    words = (
        "run",
        "leaving.yaml",
        "second.yaml",
        "--scene",
        "room",
        "--out",
        "o",
        "--maps",
        "--report",
        "--workers",
        "2",
    )
    answer = invoke(*words)
    assert answer.exit_code == 0, answer.output
    assert "in o\n" in answer.stdout
    assert files_below(tmp_path / "elsewhere") == []
    assert {"results.sqlite", "report.html", "tables/t.md", "leaving.resolved.yaml"} <= set(
        files_below(home / "o")
    )
    assert len(list((home / "o/maps").glob("*.pfm"))) == 4
    os.chdir(home)
    assert len(json.loads(invoke("results", "o", "--json").stdout)) == 4
    # Nothing is computed again.
    before = {path: path.stat().st_mtime_ns for path in (home / "o/maps").iterdir()}
    assert invoke(*words).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in (home / "o/maps").iterdir()} == before


def test_many_scenes_that_are_read_again_later_are_found(home, tmp_path, script):
    rooms = [f"room{i}" for i in range(12)]
    for name in rooms:
        shutil.copytree(home / "room", home / name)
    results = stereo_framework.run("leaving.yaml", scenes=rooms, out="o", workers=1, maps=True)
    assert [result.error for result in results] == [None] * 12
    assert len(list((home / "o/maps").glob("*.pfm"))) == 12
    assert files_below(tmp_path / "elsewhere") == []


def test_a_data_root_is_found_later(home, script, monkeypatch):
    folder = home / "root/middlebury-v3/trainingQ/Small"
    folder.mkdir(parents=True)
    for old, new in (
        ("left.png", "im0.png"),
        ("right.png", "im1.png"),
        ("truth.pfm", "disp0GT.pfm"),
    ):
        shutil.copy(home / old, folder / new)
    write_image(folder / "mask0nocc.png", np.full((24, 37), 255, np.uint8))
    calibration = "cam0=[100 0 16; 0 100 12; 0 0 1]\ncam1=[100 0 16; 0 100 12; 0 0 1]\n"
    (folder / "calib.txt").write_text(
        f"{calibration}doffs=0\nbaseline=10\nwidth=37\nheight=24\nndisp=7\n"
    )
    for variable, option in (("root", ()), ("", ("--data", "root"))):
        monkeypatch.chdir(home)
        monkeypatch.setenv("STEREO_DATA", variable)
        answer = invoke(
            "run",
            "leaving.yaml",
            "--scene",
            "middlebury-v3/trainingQ/Small",
            "--out",
            f"o{variable}",
            *option,
        )
        assert answer.exit_code == 0, answer.output


@pytest.mark.parametrize(
    ("words", "written"),
    [
        (
            (
                "match",
                "left.png",
                "right.png",
                "--disparities",
                "0:6",
                "--method",
                "leaving.yaml",
                "-o",
                "o",
            ),
            "o/disparity.pfm",
        ),
        (
            ("match", "left.png", "right.png", "--disparities", "0:6", "--method", "leaving.yaml"),
            "left_match/disparity.pfm",
        ),
        (
            ("choose", "--scene", "synthetic/planes", "--methods", "leaving.yaml"),
            "choice/best.yaml",
        ),
        (("tune", "leaving.yaml", "--scene", "room", "--trials", "2", "--out", "o"), "o/best.yaml"),
    ],
)
def test_commands_write_where_the_user_is(words, written, home, tmp_path, script):
    if words[0] == "tune":
        pytest.importorskip("optuna", reason="optuna is not installed")
        swept = script | {"sweep": {"grid": {"refinement.leaves.number": [1, 2]}}}
        (home / "leaving.yaml").write_text(yaml.safe_dump(swept))
    answer = invoke(*words)
    assert answer.exit_code == 0, answer.output
    assert (home / written).is_file()
    assert files_below(tmp_path / "elsewhere") == []
    assert str(home) not in answer.stdout
