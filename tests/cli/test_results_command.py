"""The command ``results`` as a user meets it."""

import csv
import io
import json
import sys
from pathlib import Path

import pytest
import yaml
from cli_parts import invoke, one_line
from made_results import SCENES, kept, result, sweep
from small_scenes import cut_scenes
from typer.testing import CliRunner

from stereo_framework import results
from stereo_framework.cli import _shared
from stereo_framework.cli.main import app
from stereo_framework.evaluation import resolve
from stereo_framework.tables.results import stored

BOX, TRUNCATION, BAD = "aggregation.box.size", "matching_cost.truncation", "bad_pixels_nonocc"
SCRIPT = {
    "include": "window",
    "scenes": ["synthetic/planes", "synthetic/occlusions"],
    "sweep": {"grid": {TRUNCATION: [5, None], BOX: [3, 9]}},
    "report": {"plots": {"sizes": {"x": BOX, "y": BAD, "series": TRUNCATION, "panels": "scene"}}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored")
    (path / "sizes.yaml").write_text(yaml.safe_dump(SCRIPT, sort_keys=False))
    with pytest.MonkeyPatch.context() as patch:
        cut_scenes(patch)
        assert invoke("run", path / "sizes.yaml", "--out", path / "out").exit_code == 0
    return path / "out"


@pytest.fixture(scope="module")
def frame(folder):
    return results(folder)


def test_where_and_sort(folder, frame):
    shown = json.loads(
        invoke("results", folder, "--where", f"{BOX}>3", "--where", "scene=planes", "--json").stdout
    )
    assert [(r["scene"], r["axes"]) for r in shown] == [
        ("synthetic/planes", {TRUNCATION: t, BOX: 9}) for t in (5, None)
    ]
    shown = json.loads(invoke("results", folder, "--sort", f"-{BOX},{BAD}", "--json").stdout)
    expected = frame.sort_values([BOX, BAD], ascending=[False, True])
    assert [r["id"] for r in shown] == expected.id.tolist()


def test_averages_follow_sort_and_limit(folder, frame):
    """`--sort` orders averages, and `--limit` keeps averages of the shown settings."""
    means = frame.groupby([BOX, TRUNCATION], sort=False)[BAD].mean()
    expected = [f"{value:.2f}" for value in sorted(means, reverse=True)]

    def averages(*options):
        output = invoke("results", folder, "--sort", f"-{BAD}", "--columns", BAD, *options).stdout
        return [
            line.split("\t")[4] for line in output.splitlines() if line.startswith("average of 2")
        ]

    assert averages() == expected
    shown = frame.sort_values(BAD, ascending=False).head(3)
    of_shown = shown.merge(means.rename("mean").reset_index(), on=[BOX, TRUNCATION])
    means_of_shown = sorted(of_shown["mean"].unique(), reverse=True)
    assert averages("--limit", "3") == [f"{value:.2f}" for value in means_of_shown]
    markdown = invoke(
        "results", folder, "--sort", f"-{BAD}", "--columns", BAD, "--format", "markdown"
    ).stdout
    rows = [
        line.replace("*", "").split("|")[5].strip()
        for line in markdown.splitlines()
        if line.startswith("| average of 2")
    ]
    assert rows == expected


def test_two_folders_are_sent_to_the_command_that_compares_them(folder):
    refused = invoke("compare", folder, folder, "--scene", "synthetic/planes")
    one_line(
        refused,
        f"{folder} is a folder; compare needs the files of maps",
        "stereo-framework rank FOLDER FOLDER",
    )


def test_group(folder, frame):
    result = invoke(
        "results",
        folder,
        "--group-by",
        TRUNCATION,
        "--columns",
        BAD,
        "--sort",
        f"-{BAD}",
        "--format",
        "csv",
    )
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    expected = frame.groupby(TRUNCATION)[BAD].mean().sort_values(ascending=False)
    assert [row[TRUNCATION] for row in rows] == list(map(str, expected.index))
    assert "none" in {row[TRUNCATION] for row in rows}
    assert [float(row[BAD]) for row in rows] == pytest.approx(expected.tolist())
    assert {row["results"] for row in rows} == {"4"}
    # CSV has no place for it.
    assert (
        result.stderr.splitlines()[0]
        == f"mean over 2 scenes (occlusions, planes), 2 values of {BOX}"
    )
    table = invoke("results", folder, "--group-by", "scene").stdout
    assert table.startswith(f"mean over 2 values of {TRUNCATION}, 2 values of {BOX}\n")
    assert "taxonomy2002: bad (percent)" in table


def test_best_values_are_bold_on_a_terminal(folder, monkeypatch):
    pivot = ("results", folder, "--group-by", BOX, "--columns", BAD)
    assert "\x1b[1m" not in invoke(*pivot).stdout
    monkeypatch.setattr(_shared, "on_a_terminal", lambda: True)
    shown = CliRunner().invoke(app, [str(a) for a in pivot], color=True).stdout
    bold = [
        line.count("\x1b[1m")
        for line in shown.splitlines()
        if "." in line and "aggregation" not in line
    ]
    assert sum(bold) == 1


@pytest.mark.parametrize(
    ("kind", "start"),
    [("csv", "id,scene,"), ("markdown", "| scene |"), ("latex", "% taxonomy2002"), ("table", "")],
)
def test_formats(folder, kind, start):
    text = invoke("results", folder, "--format", kind).stdout
    assert text.startswith(start)
    assert "synthetic/occlusions" in text
    assert (
        "synthetic/occlusions"
        in invoke("results", folder, "--group-by", "scene", "--format", kind).stdout
    )


def test_plots(folder):
    result = invoke("results", folder, "--plots")
    assert result.exit_code == 0, result.stderr
    assert [Path(line).name for line in result.stdout.splitlines()] == ["sizes.svg", "sizes.png"]
    assert (folder / "plots/sizes.svg").is_file()
    before = (folder / "plots/sizes.svg").read_bytes()
    assert invoke("results", folder, "--plots", "--where", "scene=planes").exit_code == 0
    assert (folder / "plots/sizes.svg").read_bytes() != before


def test_protocols(small_scenes, tmp_path):
    half = {"base": "taxonomy2002", "threshold": 0.5, "name": "half"}
    script = SCRIPT | {
        "evaluation": {"protocol": ["taxonomy2002", half]},
        "scenes": ["synthetic/planes"],
    }
    (tmp_path / "two.yaml").write_text(yaml.safe_dump(script, sort_keys=False))
    out = tmp_path / "out"
    assert invoke("run", tmp_path / "two.yaml", "--out", out).exit_code == 0
    by_size = ("results", out, "--group-by", BOX)
    one_line(
        invoke(*by_size), "results of taxonomy2002 and half", "--where 'protocol=taxonomy2002'"
    )
    assert invoke(*by_size, "--where", "protocol=half").exit_code == 0
    assert invoke("results", out, "--format", "markdown").stdout.count("| scene |") == 2
    assert [Path(line).name for line in invoke("results", out, "--plots").stdout.splitlines()][
        ::2
    ] == [
        "sizes_taxonomy2002.svg",
        "sizes_half.svg",
    ]


def test_long_tables_are_cut_unless_asked_for(folder):
    def rows(*options):
        lines = invoke("results", folder, *options).stdout.splitlines()
        return sum("synthetic/" in line for line in lines), lines[-1]

    assert rows("--limit", 3) == (3, "8 results")
    assert (
        "the first 3 of 8 rows; --limit 0 shows all"
        in invoke("results", folder, "--limit", 3).stdout
    )
    assert rows("--limit", 0) == rows() == rows("--limit", 8) == (8, "8 results")
    by_size = ("--group-by", f"scene,{BOX}")
    assert rows("--limit", 3, *by_size) == (3, "the first 3 of 4 rows; --limit 0 shows all")
    # What machines read is whole.
    assert len(json.loads(invoke("results", folder, "--limit", 3, "--json").stdout)) == 8
    assert len(invoke("results", folder, "--limit", 3, "--format", "csv").stdout.splitlines()) == 9


def test_a_cut_table_has_the_columns_and_the_best_of_all(tmp_path, monkeypatch):
    """Also where all of its own results failed."""
    sizes = range(1, 6)
    good = [result(SCENES[0], {BOX: n}, {BAD: 10.0 - n}) for n in sizes]
    kept(tmp_path, [*(result(SCENES[1], {BOX: n}, {}, error="broken") for n in sizes), *good])
    for options in ((), ("--columns", BAD)):
        shown = invoke("results", tmp_path, "--limit", 5, *options)
        assert shown.exit_code == 0, shown.stderr
        header, *rows = (line.split("\t") for line in shown.stdout.splitlines() if "\t" in line)
        assert header[:4] == ["scene", "method", BOX, BAD]
        assert [row[2:4] for row in rows if row[0] == SCENES[1]] == [
            [str(n), "failed"] for n in sizes
        ]
    # The fifth one is the best of its scene, the third one only of those that are printed.
    bests = []
    monkeypatch.setattr(
        _shared, "print_table", lambda header, rows, *, best, **_: bests.append(best)
    )
    for limit in (3, 5):
        invoke("results", tmp_path, "--where", f"scene={SCENES[0]}", "--limit", limit)
    assert bests == [frozenset(), {(4, 3)}]


def test_each_protocol_has_its_first_rows_and_averages(tmp_path):
    """Averages of all settings over both scenes stand below, 1.5 times the setting, or the first of them."""
    for count, name in ((3, "taxonomy2002"), (2, "eth3d")):
        same = {"protocol": name, "protocol_text": str(resolve(name))}
        kept(
            tmp_path / name,
            sweep(
                {BOX: [*range(1, count + 1)]},
                lambda s, n: {BAD: n * (1.0 + (s == SCENES[1]))},
                **same,
            ),
        )
    both = [r for name in ("taxonomy2002", "eth3d") for r in stored(tmp_path / name)]
    kept(tmp_path / "both", both)
    lines = invoke("results", tmp_path / "both", "--limit", 2).stdout.splitlines()
    assert sum(line.startswith("scene\t") for line in lines) == 2
    assert [f"the first 2 of {count} rows; --limit 0 shows all" in lines for count in (6, 4)] == [
        True,
        True,
    ]
    averages = [line.split("\t")[2:4] for line in lines if line.startswith("average of 2")]
    assert averages == [["1", "1.50"], ["2", "3.00"]] * 2
    assert invoke("results", tmp_path / "both", "--limit", 0).stdout.count("average of 2") == 5


def test_a_run_prints_the_first_of_many_results(small_scenes, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules["stereo_framework.cli.run"], "_MOST_ROWS", 3)
    (tmp_path / "sizes.yaml").write_text(yaml.safe_dump(SCRIPT | {"report": {}}, sort_keys=False))
    for _ in range(2):  # computed, and found stored
        said = invoke("run", tmp_path / "sizes.yaml", "--out", tmp_path / "out")
        assert said.exit_code == 0, said.output
        assert said.stdout.count("synthetic/planes") == 3
        assert (
            f"the first 3 of 8 rows; stereo-framework results {tmp_path / 'out'} --limit 0 shows all"
            in said.stdout
        )
    whole = json.loads(
        invoke("run", tmp_path / "sizes.yaml", "--out", tmp_path / "out", "--json").stdout
    )
    assert whole == json.loads(invoke("results", tmp_path / "out", "--json").stdout)
    # Failures are counted wherever they stand, and without a folder all is printed.
    failed = invoke("run", tmp_path / "sizes.yaml", "--out", tmp_path / "other", "--memory", "1K")
    assert failed.exit_code == 1
    assert failed.stderr.splitlines()[-1].startswith(
        "error: 5 more runs failed; stereo-framework results "
    )
    assert invoke("run", tmp_path / "sizes.yaml").stdout.count("synthetic/") == 8
