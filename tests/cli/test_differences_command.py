"""The command ``differences`` as a user meets it."""

import csv
import io
import json
from pathlib import Path

import pytest
from cli_parts import call, invoke, one_line
from made_results import kept, result

from stereo_framework import differences
from stereo_framework.tables.results import stored

BAD, RMS, DENSITY = "bad_pixels_nonocc", "rms_error_all", "density_all"
ERRORS = {
    "worst": [9.0, 8.1, 7.2, 9.3, 8.4, 7.5, 9.6, 8.8],
    "best": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
    "like_best": [1.05, 1.06, 1.27, 1.2, 1.49, 1.41, 1.69, 1.67],
}
HEADER = [
    *("first", "second", "verdict", "scenes", "difference"),
    *("95 % interval", "p", "corrected p", "wins", "ties"),
]


def results_of_errors(errors=ERRORS, **changes):
    """Return a result for each method and scene. None stands for a run that failed."""
    results = []
    for method, values in errors.items():
        for i, value in enumerate(values):
            fields = {"error": "it failed"} if value is None else {}
            statistics = {} if value is None else {BAD: value, RMS: 10 - value, DENSITY: 100.0}
            scene = f"{'one' if i < 4 else 'two'}/{i}"
            results.append(result(scene, {}, statistics, method=method, **fields, **changes))
    return results


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Change to a folder with the stored results of three methods on eight scenes."""
    monkeypatch.chdir(tmp_path)
    return kept(Path("out"), results_of_errors())


def rows(*words):
    """Return the cells of the table that the command prints, by line."""
    lines = [line.split("\t") for line in call("differences", *words).stdout.splitlines()]
    return [line for line in lines if len(line) > 3]


def records(*words):
    """Return the pairs that the command prints with ``--json``."""
    return json.loads(call("differences", *words, "--json").stdout)


def test_each_pair_is_printed_once_with_the_better_method_first(folder):
    header, *pairs = rows("out")
    assert header == HEADER
    assert [pair[:4] + pair[8:] for pair in pairs] == [
        ["best", "like_best", "not decided", "8", "4", "0"],
        ["best", "worst", "better", "8", "8", "0"],
        ["like_best", "worst", "better", "8", "8", "0"],
    ]
    assert pairs[1][4] == "-7.14"
    assert pairs[1][6:8] == ["0.0078", "0.0234"]
    low, word, high = pairs[1][5].split()
    assert (float(low) < -7.14 < float(high), word) == (True, "to")


def test_the_lines_below_the_table_explain_the_numbers(folder):
    first_line, *lines = call("differences", "out").stdout.splitlines()
    assert first_line == (
        f"{BAD} (%, lower is better): values of the first method minus values of the second method"
    )
    text = " ".join(lines)
    explanations = (
        "protocol p: ",
        "about 95 of 100 intervals contain the true mean difference",
        "p: the probability of differences at least as clear if both methods are equally good",
        "corrected p: p after the correction for 3 pairs (holm)",
        "the verdict is better or worse if the corrected p-value is below 0.05",
        "'not decided' does not mean that both are equally good",
        "ties: number of scenes on which",
    )
    assert [explanation for explanation in explanations if explanation not in text] == []


def test_a_baseline_is_the_second_method_of_each_pair(folder):
    pairs = records("out", "--baseline", "like_best")
    assert [(pair["first"], pair["second"], pair["verdict"]) for pair in pairs] == [
        ("best", "like_best", "not decided"),
        ("worst", "like_best", "worse"),
    ]
    one_line(
        invoke("differences", "out", "--baseline", "bets"),
        "baseline: no method 'bets'; allowed methods: best, like_best, worst; did you mean 'best'?",
    )


def test_json_has_the_numbers_of_the_function(folder):
    pairs = records("out", "--baseline", "worst", "--statistic", RMS)
    expected = differences(stored("out"), RMS, baseline="worst").to_dict("records")
    assert sorted(pairs, key=str) == sorted(expected, key=str)
    assert list(pairs[0]) == [
        *("first", "second", "scenes", "difference", "low", "high"),
        *("p", "corrected_p", "wins", "ties", "verdict"),
    ]
    assert [pair["verdict"] for pair in pairs] == ["worse", "worse"]


def test_a_statistic_can_be_one_whose_higher_values_are_better(folder):
    results = [
        result(f"one/{i}", {}, {DENSITY: density - i}, method=method)
        for method, density in (("dense", 99.0), ("sparse", 80.0))
        for i in range(6)
    ]
    kept(Path("densities"), results)
    [_, pair] = rows("densities", "--statistic", DENSITY)
    assert (pair[0], pair[2], pair[4]) == ("dense", "better", "+19")


def test_corrections_change_the_corrected_p_value(folder):
    values = {}
    for correction in ("holm", "bonferroni", "benjamini-hochberg", "none"):
        values[correction] = [
            round(pair["corrected_p"], 4) for pair in records("out", "--correction", correction)
        ]
    smallest = 0.0078125
    assert values["holm"][1:] == [round(3 * smallest, 4)] * 2
    assert values["bonferroni"][1:] == [round(3 * smallest, 4)] * 2
    assert values["benjamini-hochberg"][1:] == [round(1.5 * smallest, 4)] * 2
    assert values["none"][1:] == [round(smallest, 4)] * 2
    text = call("differences", "out", "--correction", "none").stdout
    assert "corrected p: p itself, which is not corrected for 3 pairs" in text


def test_data_sets_are_the_units_of_blocks(folder):
    header, *pairs = rows("out", "--block", "data_set")
    assert header[2:5] == ["verdict", "scenes", "data sets"]
    assert [pair[2:5] for pair in pairs] == [["cannot be decided with 2 data sets", "8", "2"]] * 3
    assert {pair[6] for pair in pairs} == {"-"}
    assert records("out", "--block", "data_set")[0]["blocks"] == 2


def test_where_selects_the_scenes(folder):
    header, *pairs = rows("out", "--where", "scene=[0, 1, 2]")
    assert {pair[2] for pair in pairs} == {"cannot be decided with 3 scenes"}
    assert {pair[5] for pair in pairs} == {"-"}
    [pair] = records("out", "--where", "method!=worst")
    assert (pair["first"], pair["second"]) == ("best", "like_best")
    assert header == HEADER


def test_the_settings_of_a_sweep_are_methods_if_by_names_them(folder):
    results = [
        result(f"one/{i}", {"a.size": size}, {BAD: 10.0 * size + i})
        for i in range(8)
        for size in (1, 2)
    ]
    kept(Path("sweep"), results)
    one_line(
        invoke("differences", "sweep"),
        "'m' has 2 results on one/0, which differ in a.size; name these settings in by as well, "
        "such as method,a.size",
    )
    [_, pair] = rows("sweep", "--by", "method,a.size")
    assert pair[:4] == ["m, size=1", "m, size=2", "better", "8"]
    # All differences are equal, so they have no spread.
    assert pair[5] == "-"


def test_missing_scenes_give_a_warning_and_a_smaller_number(folder):
    errors = {"a": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, None], "b": [2.0, 3.5, 4.2, 5.1, 6.3, 7.4, 8.0]}
    kept(Path("part"), results_of_errors(errors))
    done = call("differences", "part")
    assert done.stderr == (
        "warning: a has no value on 1 of 7 scenes (6), because a run failed or is missing there; "
        "its pairs leave these scenes out\n"
    )
    [pair] = records("part")
    assert (pair["scenes"], pair["p"], pair["verdict"]) == (6, 0.03125, "better")


def test_formats_for_machines_have_all_digits_and_notes_on_the_error_stream(folder):
    done = call("differences", "out", "--format", "csv")
    table = list(csv.DictReader(io.StringIO(done.stdout)))
    pairs = records("out")
    assert [row["first"] for row in table] == [pair["first"] for pair in pairs]
    for name in ("difference", "low", "high", "p", "corrected_p"):
        assert [float(row[name]) for row in table] == [pair[name] for pair in pairs]
    title, protocol = done.stderr.splitlines()
    assert title.startswith(f"{BAD} (%, lower is better)")
    assert protocol == "p: as one likes"

    markdown = call("differences", "out", "--format", "markdown").stdout
    assert "| best | worst | 8 | -7.14 |" in markdown
    latex = call("differences", "out", "--format", "latex").stdout
    assert r"best & like\_best & 8 & " in latex


def test_the_limit_cuts_the_printed_pairs(folder):
    assert len(rows("out", "--limit", 1)) == 2
    assert (
        "the first 1 of 3 pairs; --limit 0 shows all"
        in call("differences", "out", "--limit", 1).stdout
    )
    assert len(rows("out", "--limit", 0)) == 4
    assert len(records("out", "--limit", 1)) == 3


def test_several_folders_and_tables_of_scores_are_compared_together(folder):
    table = "method,scene,bad_pixels_nonocc\n"
    table += "".join(f"published,one/{i},{20 + i}\n" for i in range(4))
    table += "".join(f"published,two/{i},{20 + i}\n" for i in range(4, 8))
    Path("scores.csv").write_text(table)
    kept(Path("other"), results_of_errors({"new": [0.5 + 0.01 * i for i in range(8)]}))
    pairs = records("out", "other", "scores.csv", "--baseline", "published")
    assert [pair["first"] for pair in pairs] == ["new", "best", "like_best", "worst"]
    assert {(pair["scenes"], pair["verdict"]) for pair in pairs} == {(8, "better")}
    # A table of scores has no text of a protocol.
    header = "method,x:bad_pixels_all,y:bad_pixels_all"
    Path("scores.csv").write_text(f"{header}\na,1,2\nb,3,5\n")
    lines = call("differences", "scores.csv").stdout.splitlines()
    assert not [line for line in lines if line.startswith("protocol")]
    assert lines[2].split("\t")[2] == "cannot be decided with 2 scenes"


def test_very_small_p_values_are_printed_as_bounds(folder):
    many = {"a": [1.0 + 0.001 * i for i in range(40)], "b": [2.0 + 0.0011 * i for i in range(40)]}
    kept(Path("many"), results_of_errors(many))
    [_, pair] = rows("many")
    assert pair[6:8] == ["<0.0001", "<0.0001"]


def test_methods_without_a_common_scene_have_dashes(folder):
    kept(Path("apart"), results_of_errors({"a": [1.0, None], "b": [None, 2.0]}))
    [_, pair] = rows("apart")
    assert pair[2:8] == ["cannot be decided with 0 scenes", "0", "-", "-", "-", "-"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--correction", "home"], "correction: no correction 'home'"),
        (["--block", "dataset"], "block: no block 'dataset'; allowed blocks: data_set"),
        (["--statistic", "bad_pixels_nonoc"], "did you mean 'bad_pixels_nonocc'?"),
        (["--by", "metod"], "'metod': no result has it"),
        (["--format", "xml"], "--format: no format 'xml'"),
        (["--format", "csv", "--json"], "one format at a time, not csv and json"),
        (["--where", "method=best"], "the results have only the method 'best'"),
    ],
)
def test_mistakes_are_one_line(folder, words, message):
    one_line(invoke("differences", "out", *words), message)


def test_results_of_several_protocols_or_without_a_direction_are_refused(folder):
    other = results_of_errors({"other": [1.0]}, protocol="q", protocol_text="q: another")
    kept(Path("mixed"), [*results_of_errors(), *other])
    one_line(invoke("differences", "mixed"), "results of p and q do not belong together")
    kept(Path("unknown"), [result("s", {}, {"own": 1.0}, method=name) for name in "ab"])
    one_line(invoke("differences", "unknown"), "--statistic: no statistic of these results")
