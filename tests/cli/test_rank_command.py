"""The command ``rank`` as a user meets it."""

import json
from pathlib import Path

import pytest
from cli_parts import call, invoke, one_line
from made_results import kept
from scipy.stats import rankdata

from stereo_framework.evaluation.hci import HCI_METRICS, Parameters
from stereo_framework.papers.comparison import raw_table
from stereo_framework.sweep import Store
from stereo_framework.sweep.result import Result
from stereo_framework.tables.ranking import average_ranks


def rank(*arguments):
    return invoke("rank", *arguments)


@pytest.fixture
def write(tmp_path):
    def file(text, name="table.csv"):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return file


def _as_csv(paper, name):
    """A published table."""
    table = raw_table(paper, name)
    lines = [["method", *(name.replace("_", ":") for name in table["columns"])]]
    lines += [[name, *values] for name, values in table["rows"].items()]
    return "".join(",".join("" if v is None else str(v) for v in line) + "\n" for line in lines)


def _records(result):
    assert result.exit_code == 0, result.output
    return {record["method"]: record for record in json.loads(result.stdout)}


def test_the_table_of_2002(write):
    """Published scores."""
    table, printed = (
        write(_as_csv("taxonomy2002", "table5")),
        raw_table("taxonomy2002", "table5")["rows"],
    )
    found = _records(rank(table, "--lower", "*", "--json"))
    assert len(found) == 20
    assert {"Graph cuts (4)", "Graph cuts (10)"} < set(found)
    for (name, values), average in zip(
        printed.items(), average_ranks(list(printed.values())), strict=True
    ):
        assert found[name]["average_rank"] == average
        assert list(found[name]["scores"].values()) == values
    assert list(found["Layered"]["scores"])[:4] == [
        "tsukuba:nonocc",
        "tsukuba:textureless",
        "tsukuba:discont",
        "sawtooth:nonocc",
    ]
    text = rank(table, "--lower", "*").stdout
    assert text.splitlines()[1].split("\t")[:3] == ["1", "Layered", "3.64"]
    assert "20 methods, 11 columns" in text


def test_methods_without_an_estimate_everywhere_are_told(write):
    header = "method,a:bad_pixels_all,a:fraction_matched,b:bad_pixels_all,b:fraction_matched"
    table = write(f"{header}\nsparse,5,0.5,6,1\ndense,7,1,8,1\n")
    told = rank(table).stderr
    assert (
        "warning: maps of unlike coverage are compared; with an estimate are, in the mean: sparse 75 %\n"
        in told
    )
    assert (
        "unlike coverage" not in rank(table, "--columns", "bad_pixels_all,fraction_matched").stderr
    )
    assert "unlike coverage" not in rank(write(f"{header}\none,5,1,6,1\nother,7,1,8,1\n")).stderr


def test_groups_of_2012_from_two_files(write):
    """One method stands in both tables, with the same scores."""
    sources = [write(_as_csv("groups2012", f"table{i}"), f"{i}.csv") for i in (3, 4)]
    groups = [
        record["group"] for record in _records(rank(*sources, "--lower", "*", "--json")).values()
    ]
    assert sorted(groups) == [1] * 9 + [2, 3, 4, 5, 6, 7]
    text = rank(*sources, "--lower", "*", "--groups").stdout
    assert "A* group" in text
    assert "A* has 9 members: their accuracy is comparable" in text


CSV = """method,tsukuba:bad_pixels_nonocc,tsukuba:density_all,venus:bad_pixels_nonocc,venus:density_all,authors
a,1.5,90,2,80,A. Author
b,2.5,95,1,85,B. Author
c,3,80,3,70,C. Author
"""


def test_wide_csv(write):
    path = write(CSV)
    # The main metrics alone; texts are no scores.
    found = _records(rank(path, "--json"))
    assert list(found["a"]["scores"]) == ["tsukuba:bad_pixels_nonocc", "venus:bad_pixels_nonocc"]
    both = _records(rank(path, "--columns", "bad_pixels_*,density_all", "--json"))
    assert both["b"]["ranks"] == {
        "tsukuba:bad_pixels_nonocc": 2,
        "tsukuba:density_all": 1,
        "venus:bad_pixels_nonocc": 1,
        "venus:density_all": 1,
    }
    assert both["b"]["average_rank"] == 1.25
    # What the user says goes before what is known, a name before a pattern.
    turned = _records(
        rank(path, "--columns", "density_all", "--higher", "*", "--lower", "density_all", "--json")
    )
    assert [m for m, r in turned.items() if r["rank"] == 1] == ["c"]
    one = _records(rank(path, "--columns", "venus:density_all", "--json"))
    assert list(one["a"]["scores"]) == ["venus:density_all"]


def test_statistics_per_scene(write):
    per_scene = "id,scene,method,protocol,aggregation.box.size,bad_pixels_all,seconds\n" + "".join(
        f"1,{s},{m},eth3d,9,{v},0.5\n"
        for m, s, v in [("a", "x", 1), ("a", "y", 4), ("b", "x", 2), ("b", "y", 3)]
    )
    found = _records(rank(write(per_scene), "--json"))
    assert found["a"]["scores"] == {"x:bad_pixels_all": 1, "y:bad_pixels_all": 4}
    assert found["b"]["ranks"] == {"x:bad_pixels_all": 2, "y:bad_pixels_all": 1}


def test_holes(write):
    path = write(CSV.replace("b,2.5,95,1", "b,,95,-"))
    one_line(
        rank(path),
        "b (tsukuba:bad_pixels_nonocc, venus:bad_pixels_nonocc)",
        "--where 'method!=b'",
        "--columns",
    )
    assert list(_records(rank(path, "--where", "method!=b", "--json"))) == ["a", "c"]
    # A column that nobody has a score in is no hole of theirs.
    empty = rank(write("method,x:bad_pixels_all,y:bad_pixels_all\na,1,\nb,2,nan\n"), "--json")
    assert list(_records(empty)["a"]["scores"]) == ["x:bad_pixels_all"]
    assert "warning: column y:bad_pixels_all: no method has a score" in empty.stderr
    one_line(
        rank(write(_as_csv("boundary2007", "table2")), "--higher", "*"),
        "CSM (CSM), GC (GC), DP (DP)",
    )


def _result(
    method,
    scene,
    value,
    protocol="taxonomy2002",
    text="taxonomy2002: as it is",
    axes=None,
    **others,
):
    statistics = {
        "bad_pixels_nonocc": value,
        "bad_pixels_discont": 2 * value,
        "bad_pixels_all": 3 * value,
        "rms_error_all": value,
    }
    return Result(
        "id",
        scene,
        method,
        {},
        axes or {},
        protocol,
        **{"statistics": statistics, "protocol_text": text} | others,
    )


def test_results_folders(tmp_path):
    swept = [
        _result("ssd", s, v + size, axes={"size": size})
        for s, v in (("x", 1), ("y", 3))
        for size in (5, 7)
    ]
    path = kept(tmp_path / "out", [*swept, _result("dp", "x", 6.5), _result("dp", "y", 9)])
    found = _records(rank(path, "--json"))
    assert list(found) == ["ssd (size=5)", "dp", "ssd (size=7)"]
    # The columns of Table 5 of the 2002 paper: not all pixels.
    metrics = ("bad_pixels_nonocc", "bad_pixels_discont")
    assert list(found["dp"]["scores"]) == [f"{s}:{m}" for s in "xy" for m in metrics]
    assert found["dp"]["ranks"] == dict.fromkeys(
        ["x:bad_pixels_nonocc", "x:bad_pixels_discont"], 2
    ) | dict.fromkeys(["y:bad_pixels_nonocc", "y:bad_pixels_discont"], 2)
    more = kept(tmp_path / "more", [_result("so", "x", 1), _result("so", "y", 1)])
    assert next(iter(_records(rank(path, more, "--json")))) == "so"
    failed = kept(
        tmp_path / "failed",
        [_result("ok", "x", 1), _result("broken", "x", 0, statistics={}, error="no luck")],
    )
    one_line(
        rank(failed),
        "broken (x:bad_pixels_nonocc, x:bad_pixels_discont)",
        "as by --where 'method!=broken'",
    )
    # No condition on the method leaves out a setting alone.
    part = kept(
        tmp_path / "part",
        [*swept, _result("ssd", "x", 0, axes={"size": 9}, statistics={}, error="no luck")],
    )
    one_line(rank(part), "ssd (size=9) (", "leave them out by --where or choose other --columns")


def test_several_protocols_are_refused(tmp_path):
    path = kept(
        tmp_path / "out",
        [_result("a", "x", 1), _result("b", "x", 2), _result("a", "y", 3, "eth3d", "eth3d: so")],
    )
    one_line(
        rank(path),
        "results of taxonomy2002 and eth3d do not belong together",
        "--where 'protocol=taxonomy2002'",
    )
    assert list(_records(rank(path, "--where", "protocol=taxonomy2002", "--json"))) == ["a", "b"]
    assert list(_records(rank(path, "--where", "protocol=eth3d", "--json"))) == ["a"]
    same = kept(
        tmp_path / "same",
        [_result("a", "x", 1), _result("b", "x", 2, text="taxonomy2002: otherwise")],
    )
    one_line(rank(same), "different versions of taxonomy2002")


MISTAKES = Path(__file__).with_name("rank_mistakes.txt").read_text().splitlines()
"""What a table holds, its lines parted by "/", what is asked of it, and what is told."""


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes(write, line):
    text, options, *parts = (part.strip() for part in line.split(" |"))
    one_line(rank(write(text.replace("/", "\n")), *options.split()), *parts)


def test_mistakes_in_files(tmp_path):
    one_line(rank(tmp_path / "none.csv"), "none.csv: no such file")
    one_line(rank(tmp_path), "no results there")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    one_line(rank(tmp_path / "bytes.csv"), "bytes.csv: cannot be read: not UTF-8 text")


def test_the_hci_metrics_of_a_run(tmp_path):
    """Two methods on a scene with fine structures and on one without."""
    scenes = ("synthetic/planes", "synthetic/occlusions")
    asked = [option for scene in scenes for option in ("--scene", scene)]
    call("run", "window", "ssd", *asked, "--metric", "hci", "--no-maps", "--out", tmp_path)
    with Store(tmp_path) as store:
        results = store.results()
    for one in results:
        coverages = {n.replace("hci_", "hci_coverage_") for n in HCI_METRICS}
        assert {*HCI_METRICS, *coverages, "hci_missed_structures"} < set(one.statistics)
        assert str(Parameters()) in one.protocol_text
    assert [r.statistics["hci_missed_structures"] >= 0 for r in results] == [
        False,
        True,
        False,
        True,
    ]
    # Nobody has a score where there is no structure: these columns are left out, and told.
    structures = [name for name, metric in HCI_METRICS.items() if metric.subset in ("M_s", "M_n")]
    ranked = rank(tmp_path, "--columns", "hci", "--json")
    left_out = [
        f"warning: column synthetic/planes:{n}: no method has a score; left out" for n in structures
    ]
    assert ranked.stderr.splitlines() == left_out
    names = [
        (s, n)
        for s in scenes
        for n in HCI_METRICS
        if not (s == "synthetic/planes" and n in structures)
    ]
    table = [
        [r.statistics[n] for s, n in names for r in results if (r.scene, r.method) == (s, m)]
        for m in ("window", "ssd")
    ]
    found = _records(ranked)
    for method, average in zip(
        ("window", "ssd"), rankdata(table, axis=0, method="min").mean(axis=1), strict=True
    ):
        assert found[method]["average_rank"] == pytest.approx(average)
        assert list(found[method]["scores"]) == [f"{s}:{n}" for s, n in names]
    one_line(rank(tmp_path, "--columns", "hci,roc"), "column 'error_rate': no table has it")
