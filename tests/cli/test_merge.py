"""The commands ``merge`` and ``changes``, and commands that read several folders."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli_parts import call, error_lines, invoke
from made_results import kept, result
from page_outputs import check_outputs, read_blocks, terminal_output
from sweep_parts import stored

from stereo_framework.cli.merge import _print_warnings
from stereo_framework.core import limits
from stereo_framework.sweep import Store

ROOT = Path(__file__).parents[2]
BAD = "bad_pixels_nonocc"
SIZE = "aggregation.box.size"


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """Change to an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made_result(number, value=None, scene="first", **changes):
    """Return a result of a setting, with a number of bad pixels."""
    statistics = {BAD: float(number if value is None else value), "rms_error_nonocc": 1.0}
    fields = {"method": "window", "id": f"{number:016x}", "environment": {"host": "node1"}}
    axes = changes.pop("axes", {SIZE: number})
    return result(scene, axes, statistics, **fields | changes)


def changed(folder, **changes):
    """Change the last result of a folder."""
    with Store(Path(folder), create=True) as store:
        *_, entry = store.entries()
        store.add(entry.key, replace(entry.result, **changes))


@pytest.fixture
def parts():
    """Write two folders with equal results, except for one more in the second."""
    kept(Path("one"), [made_result(1), made_result(2)])
    kept(Path("two"), [made_result(1), made_result(2), made_result(3)])
    return ["one", "two"]


# --- merge ----------------------------------------------------------------------------


def test_the_summary_of_a_merge(parts):
    done = call("merge", *parts, "--out", "all")
    assert done.stdout.splitlines() == [
        "all contains 3 results",
        "left out: 2 results, because all or an earlier folder contains the same runs",
        "next step: 'stereo-framework results all' lists the results",
    ]
    assert done.stderr == ""
    assert len(stored(Path("all"))) == 3
    kept(Path("three"), [made_result(1)])
    done = call("merge", "three", "--out", "new")
    assert done.stdout.splitlines()[0] == "new contains 1 result"


def test_a_merge_prints_contradictions_and_missing_results(parts):
    changed("two", statistics={BAD: 9.0})
    kept(Path("three"), [made_result(1), made_result(2), made_result(3)])
    with Store(Path("three"), create=True) as store:
        store.set_listed_keys([*store.planned_keys(), "another"])
    done = call("merge", *parts, "three", "--out", "all")
    assert done.stdout.splitlines()[1:] == [
        "left out: 4 results, because all or an earlier folder contains the same runs",
        "1 contradiction; all contradicting results are kept",
        "missing: 1 planned result; continue the runs that have not ended, and merge again",
        "next step: 'stereo-framework results all' lists the results",
    ]
    [warning] = done.stderr.splitlines()
    assert warning.startswith(
        "warning: first window (aggregation.box.size=3): two computations of this run contradict "
        f"each other: {BAD} is 9.0 on node1 and 3.0 on node1; both results are kept"
    )


def test_only_the_first_contradictions_are_printed():
    count = limits.PRINTED_LINES + 2
    kept(Path("one"), [made_result(i) for i in range(count)])
    kept(Path("two"), [made_result(i, i + 1) for i in range(count)])
    lines = call("merge", "one", "two", "--out", "all").stderr.splitlines()
    assert len(lines) == limits.PRINTED_LINES + 1
    assert lines[-1] == (
        "warning: 2 further warnings are not printed; 'stereo-framework changes FOLDER FOLDER' "
        "lists the numbers that differ between two folders"
    )


def test_many_problems_with_files_do_not_lead_to_the_command_changes(capsys):
    problems = [f"problem {number}" for number in range(limits.PRINTED_LINES + 1)]
    _print_warnings(["a contradiction"], problems)
    assert capsys.readouterr().err.splitlines()[-1] == (
        "warning: 2 further warnings are not printed"
    )


# --- several folders ------------------------------------------------------------------


def test_results_of_several_folders_are_listed_together(parts):
    records = json.loads(call("results", *parts, "--json").stdout)
    assert [record["axes"][SIZE] for record in records] == [1, 2, 3]
    table = call("results", *parts, "--sort", f"-{BAD}", "--where", f"{SIZE}<3").stdout
    rows = list(csv.reader(io.StringIO(table), delimiter="\t"))
    assert [row[2] for row in rows[1:3]] == ["2", "1"]
    changed("two", statistics={BAD: 9.0}, error=None)
    kept(Path("three"), [made_result(1), made_result(2), made_result(3)])
    done = call("results", "two", "three")
    assert "4 results" in done.stdout
    assert "contradict each other" in done.stderr


def test_missing_results_of_several_folders_are_reported_once(parts):
    with Store(Path("one"), create=True) as store:
        store.set_listed_keys([*store.planned_keys(), "2", "another"])
    message = "1 planned result is in none of the folders; if no run is going on, run the same"
    assert call("results", *parts).stderr.startswith(message)
    assert call("rank", *parts).stderr.startswith(f"warning: {message}")
    call("report", *parts, "--out", "page.html")
    assert message in Path("page.html").read_text()


def test_earlier_results_of_several_folders_are_listed_with_all(parts):
    with Store(Path("two"), create=True) as store:
        store.set_listed_keys(["0"])
    assert call("results", *parts).stdout.splitlines()[-1] == "2 results"
    assert call("results", *parts, "--all").stdout.splitlines()[-1] == "3 results"


def test_equal_results_of_several_folders_are_ranked_once(parts):
    Path("table.csv").write_text(f"method,{BAD}\nprinted,2.5\n")
    records = json.loads(call("rank", *parts, "--columns", BAD, "--json").stdout)
    assert [record["scores"][f"first:{BAD}"] for record in records] == [1.0, 2.0, 3.0]
    table_of_one_folder = call("rank", "two", "--columns", BAD).stdout
    assert call("rank", *parts, "--columns", BAD).stdout == table_of_one_folder
    refused = invoke("rank", *parts, "none")
    assert "none: no results there" in refused.stderr
    Path("notes.txt").touch()
    refused = invoke("rank", *parts, "notes.txt")
    assert "notes.txt: expected a results folder or a .csv file" in refused.stderr


def test_folders_and_a_table_are_ranked_together():
    kept(Path("one"), [made_result(1, method="first method", axes={})])
    kept(Path("two"), [made_result(2, method="second method", axes={})])
    Path("table.csv").write_text(f"method,first:{BAD}\nprinted,1.5\n")
    records = json.loads(call("rank", "one", "table.csv", "two", "--columns", BAD, "--json").stdout)
    names = [record["method"] for record in records]
    assert names == ["first method", "printed", "second method"]


def test_a_report_of_several_folders_has_the_results_of_all(parts):
    call("report", *parts, "--out", "page.html")
    text = Path("page.html").read_text()
    assert "Run: one, two" in text
    assert "3 results, 3 methods, 1 scene." in text
    assert not Path("one/report.html").exists()
    call("report", *parts, "--out", "short.html", "--limit", 1)
    assert "two --limit 0&#39; shows all" in Path("short.html").read_text()


# --- changes --------------------------------------------------------------------------


def test_equal_folders_have_no_changes(parts):
    done = call("changes", "one", "one")
    assert done.stdout == "2 results in both folders, of which 0 have other numbers\n"
    done = call("changes", *parts)
    assert done.stdout.splitlines() == [
        "2 results in both folders, of which 0 have other numbers",
        "setting only in two: window (aggregation.box.size=3) on first",
    ]
    assert call("changes", "two", "one").stdout.splitlines()[1].startswith("setting only in two")


def test_numbers_that_differ_are_printed_with_their_difference(parts):
    changed("one", statistics={BAD: 2.5, "rms_error_nonocc": 1.0}, energy=4.0)
    done = call("changes", *parts, status=1)
    assert done.stdout.splitlines()[:4] == [
        "scene\tsetting\tstatistic\told\tnew\tdifference",
        f"first\twindow (aggregation.box.size=2)\t{BAD}\t2.50\t2.00\t-0.5",
        "first\twindow (aggregation.box.size=2)\tenergy\t4.00\t1.00\t-3",
        "2 results in both folders, of which 1 have other numbers",
    ]


def test_nan_and_missing_statistics_are_distinguished(parts):
    changed("one", statistics={BAD: float("nan")}, energy=None)
    lines = call("changes", *parts, status=1).stdout.splitlines()
    cells = [line.split("\t")[2:] for line in lines[1:4]]
    assert cells == [
        [BAD, "nan", "2.00", "-"],
        ["rms_error_nonocc", "-", "1.00", "-"],
        ["energy", "-", "1.00", "-"],
    ]


def test_columns_choose_the_statistics_of_the_changes(parts):
    changed("one", statistics={BAD: 2.5, "rms_error_nonocc": 3.0})
    lines = call("changes", *parts, "--columns", "rms_error_nonocc", status=1).stdout.splitlines()
    assert [line.split("\t")[2] for line in lines[:2]] == ["statistic", "rms_error_nonocc"]
    assert lines[2] == "2 results in both folders, of which 1 have other numbers"
    changed("one", statistics={BAD: 2.0, "rms_error_nonocc": 3.0})
    lines = call("changes", *parts, "--columns", BAD, status=1).stdout.splitlines()
    assert lines[:2] == [
        "2 results in both folders, of which 1 have other numbers",
        "1 of them differ only in statistics that are not shown; --columns NAME or --json shows "
        "them",
    ]


def test_the_limit_of_changes_cuts_rows_and_lines():
    kept(Path("one"), [made_result(i) for i in range(4)])
    kept(Path("two"), [*(made_result(i, i + 1) for i in range(4)), made_result(5), made_result(6)])
    lines = call("changes", "one", "two", "--limit", 1, status=1).stdout.splitlines()
    assert len([line for line in lines if "\t" in line]) == 2
    assert "the first 1 of 4 rows; --limit 0 shows all" in lines
    assert "the first 1 of 2 lines; --limit 0 shows all" in lines
    lines = call("changes", "one", "two", "--limit", 0, status=1).stdout.splitlines()
    assert len([line for line in lines if "\t" in line]) == 5
    assert not any("--limit 0" in line for line in lines)


def test_changes_as_json(parts):
    changed("one", statistics={BAD: 2.5, "rms_error_nonocc": 1.0})
    first, second = json.loads(call("changes", *parts, "--json", status=1).stdout)
    names = ["kind", "scene", "method", "axes", "parameters", "protocol"]
    assert list(second) == names
    assert list(first) == [
        *names,
        "numbers",
        "old_error",
        "new_error",
        "changed_parameters",
        "changed_versions",
        "is_other_run",
    ]
    assert (first["kind"], second["kind"]) == ("changed", "only_in_second")
    assert first["numbers"] == [{"name": BAD, "old": 2.5, "new": 2.0, "difference": -0.5}]
    assert second["axes"] == {SIZE: 3}
    assert call("changes", "two", "two", "--json").stdout == "[]\n"


def test_failures_scenes_and_causes_are_printed():
    old = {"host": "node1", "numpy": "1.26.4"}
    new = {"host": "node2", "numpy": "2.0.1"}
    kept(
        Path("one"),
        [
            made_result(1, environment=old),
            made_result(2, environment=old),
            made_result(3, parameters={SIZE: 3, "seed": 1}),
            made_result(4),
            made_result(5, scene="second"),
        ],
    )
    kept(
        Path("two"),
        [
            made_result(1, environment=new, id="a" * 16),
            replace(made_result(2, environment=old), statistics={}, energy=None, error="no luck"),
            made_result(3, parameters={SIZE: 3, "seed": 2}, id="b" * 16),
            made_result(4, id="c" * 16),
        ],
    )
    lines = call("changes", "one", "two", status=1).stdout.splitlines()
    name = "first window (aggregation.box.size={})"
    assert lines == [
        "4 results in both folders, of which 0 have other numbers",
        f"{name.format(2)}: failed only in two: no luck",
        "scene only in one: second, 1 result",
        "other versions (numpy 1.26.4 -> 2.0.1), and perhaps other code or files: "
        f"{name.format(1)}",
        f"the same run on the hosts node1 and node1 with the same versions: {name.format(2)}",
        f"other parameters (seed 1 -> 2): {name.format(3)}",
        f"the same parameters and versions, but other code, another scene or other files: "
        f"{name.format(4)}",
    ]
    failed = call("changes", "two", "one", status=1).stdout
    assert f"{name.format(2)}: failed only in two: no luck" in failed


def test_changes_warn_about_missing_results(parts):
    with Store(Path("one"), create=True) as store:
        store.set_listed_keys([*store.planned_keys(), "another"])
    done = call("changes", *parts)
    [warning] = error_lines(done)
    assert warning.startswith("warning: one: 1 result is still missing")


@pytest.mark.docs
def test_the_page_shows_the_output_of_changes():
    name = "docs/howto/query.md"
    blocks = read_blocks(name, (ROOT / name).read_text())
    [script] = [block.text for block in blocks if block.text.startswith("# truncation.yaml")]
    Path("truncation.yaml").write_text(script)
    call("run", "truncation.yaml", "--out", "merged")
    call("run", "truncation.yaml", "--set", "aggregation.box.size=11", "--out", "new")
    [shown_block] = [block for block in blocks if block.text.startswith("stereo-framework changes")]
    printed, status = terminal_output(*shown_block.text.split()[1:])
    assert status == 1
    check_outputs(name, shown_block, printed)
