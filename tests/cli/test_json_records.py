"""All fields of what the commands print with ``--json``, and their values beside those of the table."""

import json
from pathlib import Path

import pytest
from cli_parts import call

from stereo_framework import load_scene
from stereo_framework.io import write_disparity, write_image

pytestmark = pytest.mark.usefixtures("small_scenes")

RESULT = [
    "id",
    "scene",
    "method",
    "parameters",
    "axes",
    "protocol",
    "statistics",
    "energy",
    "matching_seconds",
    "seconds",
    "processor_seconds",
    "time",
    "host",
    "processor",
    "cores",
    "threads",
    "versions",
    "warnings",
    "error",
]
SWEEP = {
    "name": "sweep",
    "include": "window",
    "scenes": ["synthetic/planes", "synthetic/slanted"],
    "sweep": {"grid": {"aggregation.box.size": [3, 9]}},
}


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Return a script of two settings on two scenes, in the current folder."""
    monkeypatch.delenv("STEREO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    Path("sweep.yaml").write_text(json.dumps(SWEEP))
    return "sweep.yaml"


def printed(*words):
    """Return what a command prints with ``--json``."""
    return json.loads(call(*words, "--json").stdout)


def test_fields_of_results_that_are_run_listed_and_evaluated(sweep):
    records = printed("run", sweep, "--out", "out", "--maps")
    assert [list(record) for record in records] == [RESULT] * 4
    assert printed("results", "out") == records
    first, second = sorted(Path("out/maps").glob("synthetic-planes*.pfm"))
    [evaluated] = printed("evaluate", first, "--scene", "synthetic/planes")
    assert list(evaluated) == RESULT
    compared = printed("compare", first, second, "--scene", "synthetic/planes")
    assert [list(record) for record in compared] == [RESULT] * 2
    assert [record["scene"] for record in compared] == ["synthetic/planes"] * 2


def test_fields_of_grouped_results(sweep):
    call("run", sweep, "--out", "out")
    [first, second] = printed("results", "out", "--group-by", "aggregation.box.size")
    assert list(first)[:2] == ["aggregation.box.size", "results"]
    assert [(row["aggregation.box.size"], row["results"]) for row in (first, second)] == [
        (3, 2),
        (9, 2),
    ]
    table = call("results", "out", "--group-by", "aggregation.box.size", "--format", "csv").stdout
    assert table.splitlines()[0].split(",") == list(first)


@pytest.mark.parametrize(
    ("words", "sizes", "cut"),
    [
        ([], ["1", "3", "5"], ""),
        (["--limit", 2], ["1", "3"], "the first 2 of 3 rows; --limit 0 shows all"),
        (["--limit", 3], ["1", "3", "5"], ""),
        (["--limit", 0], ["1", "3", "5"], ""),
        (["--sort", "-aggregation.box.size"], ["5", "3", "1"], ""),
        (
            ["--sort", "-aggregation.box.size", "--limit", 1],
            ["5"],
            "the first 1 of 3 rows; --limit 0 shows all",
        ),
    ],
)
@pytest.mark.parametrize("group", [[], ["--group-by", "aggregation.box.size"]])
def test_a_table_is_cut_to_its_limit_in_the_order_that_is_asked_for(
    sweep, group, words, sizes, cut
):
    script = {"scenes": SWEEP["scenes"][:1], "sweep": {"grid": {"aggregation.box.size": [1, 3, 5]}}}
    Path(sweep).write_text(json.dumps(SWEEP | script))
    call("run", sweep, "--out", "out")
    lines = call("results", "out", *group, *words).stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if "aggregation.box.size" in line.split("\t"))
    column = lines[start].split("\t").index("aggregation.box.size")
    rows = [line.split("\t") for line in lines[start + 1 :] if line.count("\t") > 3]
    assert [row[column] for row in rows] == sizes
    assert ([line for line in lines if "shows all" in line] or [""]) == [cut]


def test_fields_of_trials(sweep):
    record = printed("tune", sweep, "--trials", 2)
    assert list(record) == ["statistic", "better", "script", "size", "protocol", "best", "trials"]
    trial = ["number", "scenes", "value", "state", "error", "method", "axes"]
    assert [list(one) for one in (record["best"], *record["trials"])] == [trial] * 3
    assert [one["state"] for one in record["trials"]] == ["complete"] * 2
    assert {one["axes"]["aggregation.box.size"] for one in record["trials"]} == {3, 9}
    assert record["best"] in record["trials"]
    assert (record["statistic"], record["better"]) == ("bad_pixels_nonocc", "lower")
    assert (record["size"], record["protocol"]) == (2, "taxonomy2002")


def test_fields_of_ranks(sweep):
    call("run", sweep, "--out", "out")
    first, second = printed("rank", "out", "--columns", "bad_pixels_all")
    assert list(first) == ["method", "rank", "average_rank", "group", "scores", "ranks"]
    columns = [f"{scene}:bad_pixels_all" for scene in SWEEP["scenes"]]
    assert list(first["scores"]) == list(first["ranks"]) == columns
    assert (first["rank"], second["rank"]) == (1, 1)
    assert sorted(first["ranks"].values()) == [1, 2]


def test_fields_of_boundaries(sweep):
    words = ("--scene", "synthetic/planes", "--protocol", "kostliva2007", "--out", "curve")
    call("run", "ssd", *words)
    [record] = printed("rank", "curve", "--boundary")
    assert sorted(record) == ["boundary", "efficiencies", "improvements"]
    [point, *_] = record["boundary"]["synthetic/planes"]
    fields = ["sparsity_rate", "error_rate", "method", "parameters", "scene", "map"]
    assert list(point) == fields


def test_fields_of_a_matched_pair(sweep):
    scene = load_scene("synthetic/planes")
    write_image("left.png", scene.reference)
    write_image("right.png", scene.match)
    write_disparity("truth.pfm", scene.truth)
    words = ("match", "left.png", "right.png", "--method", "window", "--disparities", "0:31")
    [record] = printed(*words)
    fields = [
        "pair",
        "method",
        "size",
        "disparities",
        "range",
        "vertical_offset",
        "estimated",
        "consistent",
        "seconds",
        "warnings",
        "folder",
        "files",
        "error",
    ]
    assert list(record) == fields
    rows, columns = scene.reference.shape[:2]
    assert (record["pair"], record["method"]) == ("left", "window")
    assert record["size"] == [columns, rows]
    assert record["disparities"] == [0, 31]
    assert (record["folder"], record["error"]) == ("left_match", None)
    assert sorted(record["files"]) == sorted(path.name for path in Path("left_match").glob("[!.]*"))
    [measured] = printed(*words, "--truth", "truth.pfm", "--out", "measured")
    assert list(measured) == [*fields, "statistics"]
