"""A results folder of version 1.0 is refused, and the error explains the remedy."""

import contextlib
import json
import sqlite3

import pytest
import yaml
from cli_parts import SCRIPT, error_lines, invoke

from stereo_framework.datasets import load_scene
from stereo_framework.io import write_disparity
from stereo_framework.sweep.database import VERSION

FORMER_VERSIONS = (1, 2, 3, 4)
"""Formats of earlier stores; the format of version 1.0 is 2."""

FORMER_TABLE = "CREATE TABLE results (key TEXT PRIMARY KEY, place INTEGER, row TEXT, details TEXT)"
"""The only table of the earlier stores."""

FORMER_SCRIPT = SCRIPT | {
    "name": "window",
    "matching_cost": {"use": "absolute_difference", "interval": False},
}
"""A script with a parameter that has another name today."""

COMMANDS = {
    "results": ["results", "old"],
    "results as JSON": ["results", "old", "--json"],
    "rank": ["rank", "old"],
    "differences": ["differences", "old"],
    "report": ["report", "old"],
    "run": ["run", "window.yaml", "--out", "old"],
    "tune": ["tune", "window.yaml", "--statistic", "bad_pixels_all", "--out", "old"],
    "evaluate": ["evaluate", "map.pfm", "--scene", "synthetic/planes", "--out", "old"],
}
"""The commands that open a results folder."""


@pytest.fixture(params=FORMER_VERSIONS)
def version(request):
    """Return the version of an earlier format."""
    return request.param


@pytest.fixture
def old_folder(tmp_path, monkeypatch, version):
    """Write the inputs of the commands, and return an earlier results folder."""
    monkeypatch.chdir(tmp_path)
    write_disparity("map.pfm", load_scene("synthetic/planes").truth)
    axes = {"aggregation.box.size": [3, 5]}
    with open("window.yaml", "w") as file:
        yaml.safe_dump(SCRIPT | {"sweep": {"grid": axes}}, file)
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "window.resolved.yaml").write_text(yaml.safe_dump(FORMER_SCRIPT))
    row = json.dumps({"scene": "synthetic/planes", "method": "window"})
    details = json.dumps({"parameters": {"matching_cost.interval": False}})
    database = sqlite3.connect(folder / "results.sqlite")
    with contextlib.closing(database), database:
        database.execute(FORMER_TABLE)
        database.execute("INSERT INTO results VALUES ('key', 0, ?, ?)", (row, details))
        database.execute(f"PRAGMA user_version = {version}")
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_a_former_results_folder_is_refused_with_the_way_to_compute_it_again(
    command, old_folder, version
):
    stored = (old_folder / "results.sqlite").read_bytes()
    result = invoke(*COMMANDS[command])
    assert result.exit_code == 2
    assert error_lines(result) == [
        f"error: old/results.sqlite: holds results of version {version} of this format, and this "
        f"program reads version {VERSION}; compute them again in another folder: the scripts are "
        "old/*.resolved.yaml; run each with 'stereo-framework run SCRIPT --out FOLDER'; if a "
        "script uses a former name of a key or a parameter, the error gives the new name"
    ]
    assert (old_folder / "results.sqlite").read_bytes() == stored


def test_the_script_of_a_former_results_folder_runs_with_the_new_names(old_folder):
    script = old_folder / "window.resolved.yaml"
    result = invoke("run", script, "--out", "new")
    assert result.exit_code == 2
    [line] = error_lines(result)
    assert line.endswith(
        "absolute_difference has no parameter 'interval'; it is called 'birchfield_tomasi' now"
    )
    script.write_text(script.read_text().replace("interval", "birchfield_tomasi"))
    assert invoke("run", script, "--out", "new").exit_code == 0
    assert invoke("results", "new").exit_code == 0
