"""The command ``run`` as a user meets it."""

import json

import numpy as np
import pytest
from cli_parts import SCRIPT, one_line

from stereo_framework.cli._shared import disparities, size
from stereo_framework.io.disparity import read_disparity, write_disparity


def test_run_json(cli):
    result = cli(
        "run", "window", "--scene", "synthetic/planes", "--set", "aggregation.box.size=5", "--json"
    )
    [record] = json.loads(result.stdout)
    about, times = (
        "id scene method parameters axes protocol statistics",
        "energy matching_seconds seconds processor_seconds",
    )
    provenance = "time host processor cores threads versions"
    assert " ".join(record) == f"{about} {times} {provenance} warnings error"
    assert record["method"] == "window"
    assert "evaluation" in record["seconds"]
    stages = [seconds for name, seconds in record["seconds"].items() if name != "evaluation"]
    assert record["matching_seconds"] == pytest.approx(sum(stages))
    assert record["parameters"]["aggregation.box.size"] == 5
    assert 0 < record["statistics"]["bad_pixels_all"] < 30


def test_run_out_and_results(pictures, cli, script, small_scenes, tmp_path):
    sweep = SCRIPT | {"sweep": {"grid": {"aggregation.box.size": [9, 1, 5]}}}
    out = tmp_path / "out"
    assert cli("run", script(sweep), "--out", out, "--workers", 2, "--maps").exit_code == 0
    assert len(list((out / "maps").glob("*.pfm"))) == 3
    names = {
        p.name.split("_", 3)[-1] for p in (out / "pictures").iterdir() if "predicted" not in p.name
    }
    assert {n.split("_", 1)[-1] for n in names} == {
        "disparity.png",
        "error.png",
        "bad.png",
        "overview.png",
        "prediction.png",
    }
    assert (out / "script.resolved.yaml").is_file()

    listed = json.loads(cli("results", out, "--json").stdout)
    assert [r["axes"]["aggregation.box.size"] for r in listed] == [9, 1, 5]


def test_run_sorts_its_table(cli, script, small_scenes):
    sweep = SCRIPT | {"sweep": {"grid": {"aggregation.box.size": [9, 1, 5]}}}
    column = "bad_pixels_nonocc"
    words = ("run", script(sweep), "--metric", column)
    rows = [line.split("\t") for line in cli(*words, "--sort", f"-{column}").stdout.splitlines()]
    place = rows[0].index(column)
    errors = [float(row[place]) for row in rows[1:4]]
    assert errors == sorted(errors, reverse=True)
    assert len(set(errors)) == 3

    unsorted = cli(*words, "--sort", "bad_pixel")
    assert unsorted.exit_code == 0
    assert "--sort bad_pixel: the results are not sorted: 'bad_pixel': no result has it" in (
        unsorted.stderr
    )
    sizes = [line.split("\t")[2] for line in unsorted.stdout.splitlines()[1:4]]
    assert sizes == ["9", "1", "5"]


def test_run_shows_what_set_changed_and_the_next_step(cli, small_scenes, tmp_path):
    words = ("run", "ssd", "--scene", "synthetic/planes", "--set", "matching_cost=census")
    lines = cli(*words).stdout.splitlines()
    assert lines[-2:] == [
        "changed with --set: matching_cost=census",
        (
            "next step: the option --out DIR stores the results, and "
            "'stereo-framework report DIR' then writes an HTML report"
        ),
    ]
    stored = cli(*words, "--out", tmp_path / "out").stdout
    assert "changed with --set: matching_cost=census" in stored
    assert "changed with" not in cli(*words[:4]).stdout


def test_ranges_as_people_write_them():
    assert {disparities(text) for text in ("0:64", "0..64", "0-64", "64")} == {(0, 64)}
    assert [disparities(text) for text in ("-8:-1.5", " 2 : 9 ", "-4--1")] == [
        (-8, -1.5),
        (2, 9),
        (-4, -1),
    ]


@pytest.mark.parametrize(
    "text", ["", "a", "8:8", "9:2", "0:1:2", "0:nan", "0:inf", "-5", "0x3:9", "1e3:2e3"]
)
def test_ranges_that_are_none_are_refused_before_anything_is_read(cli, text):
    one_line(
        cli("match", "no.png", "nothing.png", "--disparities", text),
        "--disparities",
        "MINIMUM:MAXIMUM" if text else "empty",
    )


def test_run_measures_something_besides(cli, script, small_scenes, tmp_path):
    shown = cli("run", "window", "--scene", "synthetic/occlusions", "--metric", "hci")
    assert shown.exit_code == 0, shown.output
    assert "hci_offset" in shown.stdout
    assert "bad_pixels_nonocc" not in shown.stdout
    [plain] = json.loads(
        cli("run", "window", "--scene", "synthetic/occlusions", "--metric", "mse", "--json").stdout
    )
    assert plain["protocol"] == "taxonomy2002+mse"
    assert {"mse_all", "bad_pixels_all"} <= plain["statistics"].keys()
    own = {"base": "taxonomy2002", "name": "mine", "border": 20, "metric": "bad_pixels"}
    path = script(SCRIPT | {"evaluation": {"protocol": [own, "middlebury-v3"]}})
    found = json.loads(
        cli(
            "run",
            path,
            "--metric",
            "rms_error",
            "--metric",
            "mse",
            "--out",
            tmp_path / "out",
            "--json",
        ).stdout
    )
    assert [r["protocol"] for r in found] == ["mine+rms_error+mse", "middlebury-v3+mse"]
    again = json.loads(cli("run", tmp_path / "out" / "script.resolved.yaml", "--json").stdout)
    assert [r["statistics"] for r in again] == [r["statistics"] for r in found]


def test_a_statistic_names_its_metric(cli, small_scenes):
    """`--metric bad_pixels_nonocc` computes bad_pixels and shows this column only."""
    table = cli("run", "window", "--scene", "synthetic/occlusions", "--metric", "bad_pixels_nonocc")
    assert table.exit_code == 0, table.output
    assert table.stdout.splitlines()[0].split("\t") == [
        "scene",
        "method",
        "bad_pixels_nonocc",
        "fraction_matched",
        "seconds",
    ]
    other = cli("run", "window", "--scene", "synthetic/occlusions", "--metric", "mape_all")
    assert other.stdout.splitlines()[0].split("\t")[2:4] == ["mape_all", "fraction_matched"]
    refused = cli(
        "run", "window", "--scene", "synthetic/occlusions", "--metric", "bad_pixels_nowhere"
    )
    one_line(refused, "there is no metric 'bad_pixels_nowhere'")


def test_another_protocol_matches_nothing_again(cli, script, small_scenes, tmp_path, monkeypatch):
    """The stored map is measured, to the digits of a run of its own; a map that somebody changed is made again."""
    path, out = (
        script(SCRIPT | {"confidence": ["peak_ratio"], "refinement": ["left_right_check"]}),
        tmp_path / "out",
    )

    def run(*words):
        [record] = json.loads(cli("run", path, "--protocol", *words, "--json").stdout)
        return record

    first, alone = run("taxonomy2002", "--out", out), run("kostliva2007")
    with monkeypatch.context() as patch:
        patch.setattr("stereo_framework.sweep.task_results.PipelineRunner", None)
        second = run("kostliva2007", "--out", out)
        listed = json.loads(cli("results", out, "--all", "--json").stdout)
    assert second["statistics"] == alone["statistics"]
    assert (second["id"], second["matching_seconds"], second["warnings"]) == (
        first["id"],
        first["matching_seconds"],
        alone["warnings"],
    )
    assert [one["protocol"] for one in listed] == ["taxonomy2002", "kostliva2007"]
    [changed] = [file for file in (out / "maps").iterdir() if "confidence" not in file.name]
    write_disparity(changed, read_disparity(changed) + np.float32(1))
    assert (
        cli("run", path, "--protocol", "eth3d", "--out", out, "--json").exit_code == 2
    )  # and is not overwritten either
    changed.unlink()
    assert run("eth3d", "--out", out)["statistics"] == run("eth3d")["statistics"]


@pytest.fixture
def failing(tmp_path, script):
    """Writes a script whose last stage fails where its parameter says so, at line 5 of the plug-in that is returned too."""

    def make(**more):
        plugin = tmp_path / "fails_plugin.py"
        plugin.write_text(
            "from stereo_framework.stages import stage\n"
            "@stage('refinement', source='a test')\n"
            "def fails(disparity, *, at: int = 0, least: int = 0):\n"
            "    if at == 2 or at > least:\n        raise RuntimeError('no luck')\n    return disparity\n"
        )
        return script(SCRIPT | {"plugins": [plugin.name], "refinement": ["fails"]} | more), plugin

    return make


FAILURE = "refinement stage fails: RuntimeError: no luck"


def test_failed_runs_give_status_1(cli, failing):
    path, plugin = failing()
    result = cli("run", path, "--set", "refinement.fails.at=2")
    assert result.exit_code == 1
    told = f"error: synthetic/planes script: {plugin}:5: {FAILURE}\n"
    assert result.stderr == told
    result = cli("run", path, "--set", "refinement.fails.at=2", "--traceback")
    assert result.stderr.startswith(told)
    assert f'  File "{plugin}", line 5, in fails\n' in result.stderr


def test_a_sweep_tells_what_failed(cli, failing, tmp_path, registry):
    grid = {"optimization": ["winner_take_all", "graph_cut"], "refinement.fails.at": [1, 2, 3]}
    refinement = [{"use": "fails", "least": 3}]
    path, plugin = failing(
        smoothness={"use": "potts", "weight": 5}, refinement=refinement, sweep={"grid": grid}
    )
    # Less than the three volumes of a graph cut.
    result = cli("run", path, "--memory", "20M", "--out", tmp_path / "out", "--workers", 2)
    assert result.exit_code == 1
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 4
    assert f"at=2): {plugin}:5: {FAILURE}" in errors[0]
    for line, at in zip(errors[1:], (1, 2, 3), strict=True):
        cut = f"optimization=graph_cut, refinement.fails.at={at}): graph_cut needs about 28.1 MiB for 320x240 pixels"
        assert cut in line
        assert "20 MiB are allowed (--memory)" in line
    table = [line for line in result.stdout.splitlines() if "synthetic/planes" in line]
    assert ["failed" in line for line in table] == [False, True, False, True, True, True]
    # With enough memory only what was missing is computed.
    again = json.loads(cli("run", path, "--out", tmp_path / "out", "--json").stdout)
    assert [r["error"] and r["error"].rpartition(": ")[2] for r in again] == [
        None,
        "no luck",
        None,
    ] * 2


def test_a_cluster_that_is_none(cli):
    pytest.importorskip("distributed", reason="dask.distributed is not installed")
    one_line(
        cli("run", "window", "--scene", "synthetic/planes", "--dask", "nonsense"),
        "--dask nonsense: ",
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [("8G", 8 * 2**30), ("1.5 GiB", 3 * 2**29), ("500m", 500 * 2**20), ("1024", 1024)],
)
def test_amounts_of_memory(text, count):
    assert size(text) == count
