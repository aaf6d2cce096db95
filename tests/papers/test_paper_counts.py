"""Counts of reproductions: what a run writes, what is gathered, and the figures of docs/papers.md."""

import json
import re

import paper_counts
import pytest

from stereo_framework import __version__
from stereo_framework.papers import NAMES, find_paper
from stereo_framework.papers.claim import KINDS, Alternatives, Claim, EarlierRule
from stereo_framework.papers.comparison import Comparison
from stereo_framework.papers.counts import count_replaced
from stereo_framework.papers.paper import Item, Outcome, Paper
from stereo_framework.papers.reproduce import reproduce


def _below_one(value):
    yield f"{value}", value < 1


EARLIER = EarlierRule("below a half", holds=False, reason="half is nowhere in the paper")
CLAIMS = {
    "said": Claim(
        "said",
        "It stays below one.",
        "section 3",
        "below one",
        "runs",
        "item",
        ["said"],
        _below_one,
        before=[EARLIER],
    ),
    "lacks": Claim(
        "lacks", "It stays there.", "section 3", "below one", "runs", "item", ["lacks"], _below_one
    ),
    "open": Claim(
        "open",
        "It turns on a cost.",
        "section 3",
        "below one",
        "runs",
        ("item", "again"),
        ["open"],
        _below_one,
    ),
    "printed": Claim(
        "printed",
        "So it is in print.",
        "Table 1",
        "below one",
        "printed",
        "item",
        ["printed"],
        _below_one,
    ),
    "never": Claim(
        "never",
        "It is beautiful.",
        "section 4",
        kind="not judged",
        item="item",
        reason="beauty is not measured",
    ),
    "check": Claim(
        "check",
        "Our sums agree",
        rule="below one",
        kind="own",
        item="item",
        of=["check"],
        judge=_below_one,
    ),
}


def _outcome(context):
    comparisons = [
        Comparison("row", "fixed", 1.0, 1.0, 0.1, 0.1, "two digits"),
        Comparison("row", "far", 1.0, 2.0, 0.1, 0.1, "two digits"),
        Comparison("row", "low", 1.0, 0.2, None, 0.1, "lower is welcome"),
        Comparison("row", "near", 1.0, 0.95, None, 0.1, "lower is welcome"),
        Comparison("row", "shown", 7.0, 70.0, None, None, "another scene"),
        Comparison("row", "absent", 8.0, None, 0.1, 0.1, "two digits"),
    ]
    data = {
        "said": 2,
        "printed": 0,
        "check": 0,
        "open": Alternatives("cost", {"ours": 0, "another": 3}),
    }
    return Outcome([], comparisons, data)


@pytest.fixture
def counts(tmp_path):
    """The counts that a reproduction of a made paper writes."""
    items = (
        Item("item", "Table 1", _outcome),
        Item("again", "Table 2", lambda context: Outcome([], data={"open": 0})),
    )
    reproduce(Paper("made", "A paper", "run", "Why.", "Cannot.", items, CLAIMS), tmp_path)
    return json.loads((tmp_path / "counts.json").read_text())


def test_a_run_writes_the_counts_of_its_numbers(counts):
    assert counts["numbers"] == {
        "judged": 4,
        "met": 3,
        "one_sided": 2,
        "one_sided_met": 2,
        "one_sided_near": 1,
        "without_verdict": 1,
        "not_measured": 1,
    }
    assert [(c["column"], c["met"], c["near"]) for c in counts["comparisons"]["item"][:4]] == [
        ("fixed", True, True),
        ("far", False, False),
        ("low", True, False),
        ("near", True, True),
    ]


def test_a_run_writes_the_counts_of_its_sentences(counts):
    assert set(counts["sentences"]) == set(KINDS)
    # Three sentences are judged on runs: one fails, one lacks data, one turns on a cost.
    assert counts["sentences"]["runs"] == {
        "asked": 3,
        "hold": 0,
        "fail": 1,
        "undetermined": 1,
        "undecided": 0,
        "no_verdict": 1,
    }
    assert counts["sentences"]["printed"] == {
        "asked": 1,
        "hold": 1,
        "fail": 0,
        "undetermined": 0,
        "undecided": 0,
        "no_verdict": 0,
    }
    assert counts["sentences"]["not judged"] == {
        "asked": 1,
        "hold": 0,
        "fail": 0,
        "undetermined": 0,
        "undecided": 0,
        "no_verdict": 1,
    }
    assert counts["replaced_rules"] == {
        "sentences": 1,
        "after_failure": 1,
        "after_success": 0,
        "not_recorded": 0,
    }
    assert counts["claims"]["open"]["verdict"] == "depends on unprinted details"
    assert counts["claims"]["said"]["earlier"] == [
        {"rule": "below a half", "holds": False, "reason": "half is nowhere in the paper"}
    ]
    assert (counts["version"], counts["item"], counts["quick"], counts["missing"]) == (
        __version__,
        None,
        False,
        [],
    )


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, ""),
        ({"item": "table1"}, "only the item table1 was reproduced"),
        ({"quick": True}, "the run was quick"),
        ({"missing": ["venus"]}, "scenes were missing: venus"),
        ({"version": "0.9"}, f"the run is of version 0.9 and not of {__version__}"),
    ],
)
def test_only_whole_runs_of_this_version_are_gathered(counts, tmp_path, change, fault):
    assert paper_counts.fault_of({**counts, **change}) == fault
    folder = tmp_path / "gathered" / "sigma_z2011"
    folder.mkdir(parents=True)
    (folder / "counts.json").write_text(json.dumps({**counts, **change}))
    if fault:
        with pytest.raises(SystemExit, match=fault):
            paper_counts.gather(folder.parent)
    else:
        assert list(paper_counts.gather(folder.parent)) == ["sigma_z2011"]


def _number(row, column, published, ours, *, met=True):
    return {"row": row, "column": column, "published": published, "ours": ours, "met": met}


TRIALS = {"0.036", "0.325", "0.236"}
"""The figures of docs/papers.md that come from no whole run: those of trials with boundary2007."""

NONE = dict.fromkeys(("asked", "hold", "fail", "undetermined", "undecided", "no_verdict"), 0)


def test_the_row_of_a_paper_keeps_undetermined_sentences_and_scenes_of_ours_apart(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(paper_counts, "FOLDER", tmp_path)
    run = {
        "numbers": {"judged": 0, "met": 0},
        "sentences": {
            "runs": {**NONE, "asked": 17, "hold": 3, "fail": 4, "undetermined": 10},
            "our scenes": {**NONE, "asked": 9, "hold": 2, "fail": 5, "undetermined": 2},
            "printed": {**NONE, "asked": 3, "hold": 2, "undecided": 1},
            "not judged": {**NONE, "asked": 1, "no_verdict": 1},
            "own": NONE,
        },
        "replaced_rules": {"sentences": 8, "after_failure": 4},
    }
    table = paper_counts.table_of_papers({"boundary2007": run}).splitlines()
    assert (
        "| `boundary2007` | none is judged | 3 / 7 | 10 | 1 | 2 / 7; 2 depend on unprinted details | 2 / 2; 1 not decided | 8 / 4 | 0 / 0 |"
        in table
    )
    assert "| `hci2015` | - | - | - | - | - | - | - | - |" in table
    assert table[-1] == "A dash: the whole run of this version is not gathered yet."
    claims = {
        "a": {"kind": "runs", "verdict": "holds", "earlier_holds": [True, False]},
        "b": {"kind": "our scenes", "verdict": "holds", "earlier_holds": [False, True]},
        "c": {"kind": "runs", "verdict": "does not hold", "earlier_holds": [False]},
    }
    text = paper_counts.sentences_of_2007({"boundary2007": {**run, "claims": claims}})
    assert (
        "Of the other 17, 10 depend on costs that the paper does not print and are not judged, 3 hold and 4 do not."
        in text
    )
    assert text.endswith(
        "2 sentences hold. The sentences among them whose rule replaced a failed rule: `a`."
    )


def test_lenient_rules_are_counted_in_both_readings():
    table5 = [
        _number("Graph cuts (4)", "map_nonocc", 0.31, 0.32),
        _number("Graph cuts (4)", "venus_nonocc", 1.79, 1.7, met=False),
    ]
    table5.append(_number("SSD + MF", "map_nonocc", 0.66, 0.67))
    table6 = [
        _number("GC", "map_best", 0.1, 0.2, met=False),
        _number("GC", "map_fixed", 0.3, 0.3, met=None),
    ]
    numbers = {"judged": 75, "met": 73, "one_sided": 20, "one_sided_met": 18, "one_sided_near": 12}
    text = paper_counts.lenient_rules(
        {"taxonomy2002": {"numbers": numbers, "comparisons": {"table5": table5, "table6": table6}}}
    )
    assert "20 best parameters" in text
    assert "18 are met so, 12 with the tolerance on both sides, which makes 67 of all 75." in text
    assert (
        "in 1 of those 20 (0 are met) and in 2 numbers of Table 5 (1 are met). 1 of these 2 medians are worse"
        in text
    )


def test_differences_of_methods_with_known_costs_are_stated():
    columns = ("Tsukuba", "Teddy", "Cones", "Venus", "Stripes")
    table1 = [
        _number(method, column, 0.7, 0.75)
        for method in paper_counts.METHODS_OF_2007
        for column in columns
    ]
    by_place = {(number["row"], number["column"]): number for number in table1}
    by_place["DP", "Venus"]["ours"] = 0.643
    by_place["CSM", "Tsukuba"]["ours"] = 0.87
    by_place["DP", "Stripes"]["ours"] = 0.8
    text = paper_counts.efficiencies({"boundary2007": {"comparisons": {"table1": table1}}})
    assert (
        "| DP | 0.750 (0.700) | 0.750 (0.700) | 0.750 (0.700) | 0.643 (0.700) | 0.800 (0.700) |"
        in text
    )
    assert "On Teddy, Cones and Venus both lie within 0.057 of the printed efficiencies." in text
    assert "On Tsukuba DP differs by +0.050 and CSM by +0.170" in text
    assert "by +0.100 and +0.050: DP has 0.800 there, printed 0.700." in text


def test_replaced_rules_are_listed_with_both_verdicts():
    text = paper_counts.replaced_rules({})
    claims = [claim for name in NAMES for claim in find_paper(name).claims.values() if claim.before]
    assert all(
        earlier.rule.replace("|", "\\|") in text for claim in claims for earlier in claim.before
    )
    counts = count_replaced(claims)
    assert text.startswith(
        f"The rules of {counts['sentences']} sentences replaced earlier rules, some of them twice. By the rule that was replaced last, "
        f"{counts['after_failure']} of these sentences had failed"
    )
    gathered = {
        name: {"claims": {c: {"verdict": "holds"} for c in find_paper(name).claims}}
        for name in NAMES
    }
    assert f"{counts['after_failure']} hold by today's rule." in paper_counts.replaced_rules(
        gathered
    )


def test_the_page_has_the_figures_of_the_stored_counts():
    page = paper_counts.PAGE.read_text(encoding="utf-8")
    assert paper_counts.with_blocks(page, paper_counts.read_stored_counts()) == page


def test_a_page_without_markers_is_refused():
    with pytest.raises(SystemExit, match="has no markers <!-- table of papers -->"):
        paper_counts.with_blocks("nothing", {})


def test_a_missing_run_is_replaced_by_the_recorded_counts_of_an_earlier_run(monkeypatch, tmp_path):
    header = "| paper | numbers met / judged | sentences: hold / asked | in print: hold / asked | not judged |"
    row = "| `boundary2007` | none is judged | 3 / 8 | 0 / 0 | 2 |"
    monkeypatch.setattr(paper_counts, "EARLIER_RUNS", {"boundary2007": "1234abcd"})
    monkeypatch.setattr(
        paper_counts, "run_git", lambda *arguments: f"# A page\n\n{header}\n| --- |\n{row}\n"
    )
    runs = paper_counts.recorded_earlier_runs()
    counts = {"sentences: hold / asked": "3 / 8", "not judged": "2"}
    assert runs == {"boundary2007": {"commit": "1234abcd", "counts": counts}}

    monkeypatch.setattr(paper_counts, "FOLDER", tmp_path)
    assert paper_counts.table_of_papers({}).endswith("is not gathered yet.")
    (tmp_path / "papers.json").write_text(json.dumps({"papers": {}, "earlier_runs": runs}))
    sentence = (
        "by an earlier version at commit `1234abcd`: sentences: hold / asked 3 / 8; not judged 2."
    )
    assert sentence in paper_counts.table_of_papers({})


def test_a_page_without_the_row_of_an_earlier_run_is_refused(monkeypatch):
    monkeypatch.setattr(paper_counts, "run_git", lambda *arguments: "# A page without tables\n")
    with pytest.raises(SystemExit, match="has no row of boundary2007 in its table of papers"):
        paper_counts.recorded_earlier_runs()


def test_figures_of_runs_stand_only_between_the_markers():
    text = paper_counts.with_blocks(paper_counts.PAGE.read_text(encoding="utf-8"), {})
    for name, block in paper_counts.BLOCKS.items():
        text = text.replace(f"<!-- {name} -->\n{block({})}\n<!-- end -->", "")
    text = re.sub(r"[Ss]ections? \d\.\d", "", text)
    figures = re.findall(
        r"\b\d+\.\d+\b|\b\d+ (?:of|/) (?:the |all )?\d{1,3}\b|\b(?:[a-z]+ty|[a-z]+teen|eleven|twelve) of\b",
        text,
    )
    # Only figures of the trials, which no stored run repeats, and a tolerance stand there.
    assert set(figures) == TRIALS


@pytest.mark.parametrize("name", NAMES)
def test_stored_counts_are_those_of_the_sentences_of_today(name):
    gathered = paper_counts.read_stored_counts()
    if name not in gathered:
        pytest.skip(f"the whole run of {name} is not gathered; the page shows a dash")
    claims = find_paper(name).claims
    assert {claim: entry["kind"] for claim, entry in gathered[name]["claims"].items()} == {
        claim.name: claim.kind for claim in claims.values()
    }
    earlier = {
        c: entry["earlier_holds"]
        for c, entry in gathered[name]["claims"].items()
        if "earlier_holds" in entry
    }
    assert earlier == {
        claim.name: [rule.holds for rule in claim.before]
        for claim in claims.values()
        if claim.before
    }
    assert gathered[name]["replaced_rules"] == count_replaced(claims.values())
    assert paper_counts.fault_of(gathered[name]) == ""


@pytest.mark.slow
def test_every_paper_is_gathered_before_a_release():
    assert set(paper_counts.read_stored_counts()) == set(NAMES)
