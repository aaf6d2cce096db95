"""Sentences, their rules and kinds, printed tables, and how all is counted and shown."""

import hashlib
import importlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from failing_photographs import PAPER as PHOTOGRAPHS

from stereo_framework.page.page import Picture, Text
from stereo_framework.papers import NAMES, find_paper
from stereo_framework.papers.claim import (
    KINDS,
    Claim,
    EarlierRule,
    Verdict,
    failures_first,
    verdict,
)
from stereo_framework.papers.comparison import Comparison, raw_table
from stereo_framework.papers.paper import Item, Outcome, Paper
from stereo_framework.papers.reproduce import reproduce

ALL = {name: find_paper(name) for name in NAMES} | {"photographs": PHOTOGRAPHS}


def sides(paper):
    return importlib.import_module(f"failing_{paper}").SIDES


@pytest.mark.parametrize(
    ("paper", "name"), [(paper, name) for paper in ALL for name in sides(paper)]
)
def test_both_sides_of_every_rule(paper, name):
    judge = ALL[paper].claims[name].judge
    for expected, examples in zip((True, False), sides(paper)[name], strict=True):
        assert examples
        for data in examples:
            found = verdict(judge(*(data if isinstance(data, tuple) else (data,))))
            assert found.holds is expected, found


def undecided(paper):
    return getattr(importlib.import_module(f"failing_{paper}"), "UNDECIDED", {})


@pytest.mark.parametrize(
    ("paper", "name"), [(paper, name) for paper in ALL for name in undecided(paper)]
)
def test_differences_that_are_not_significant_decide_nothing(paper, name):
    judge = ALL[paper].claims[name].judge
    for data in undecided(paper)[name]:
        decision = verdict(judge(*(data if isinstance(data, tuple) else (data,))))
        assert decision.verdict is Verdict.NOT_DECIDED, decision


@pytest.mark.parametrize("paper", ALL)
def test_every_sentence_has_its_rule_or_its_reason(paper):
    claims = ALL[paper].claims
    asked = {name: claim.judge for name, claim in claims.items() if claim.judge}
    # One that is judged as another is has the sides of that one.
    assert set(sides(paper)) <= set(asked)
    assert all(judge in [asked[name] for name in sides(paper)] for judge in asked.values())
    for claim in claims.values():
        assert claim.kind in KINDS
        assert bool(claim.section) is (claim.kind != "own"), claim.name
        assert claim.rule or claim.kind not in ("runs", "our scenes", "printed"), claim.name
        assert claim.reason or claim.kind != "not judged", claim.name
        assert not claim.rule.endswith("."), claim.name


def _digests(kept):
    """By table, of the keys of its file that are kept."""
    folder = Path(importlib.import_module("stereo_framework.papers").__file__).parent
    tables = [
        f"{path.parent.name}/{path.stem}"
        for path in sorted(folder.glob("*/*.yaml"))
        if path.stem != "paper"
    ]
    facts = {
        table: {key: v for key, v in raw_table(*table.split("/")).items() if kept(key)}
        for table in tables
    }
    return {
        t: hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()[:16]
        for t, own in facts.items()
        if own
    }


def test_no_digit_of_a_printed_table_and_no_tolerance_has_changed():
    known = yaml.safe_load((Path(__file__).parent / "printed_tables.yaml").read_text())
    assert (
        _digests(lambda key: key not in ("source", "note", "check", "ours", "tolerances"))
        == known["printed"]
    )
    assert _digests(lambda key: key == "tolerances") == known["tolerances"]


def _below(value):
    yield f"{value}", value < 1


def _claim(name, says, section="", rule="below one", kind="runs", **more):
    return Claim(name, says, section, rule, kind, "item", [name], **more)


EARLIER = EarlierRule("below a half", holds=False, reason="half is nowhere in the paper")
SAID = _claim(
    "said",
    "It stays below one.",
    "section 3",
    judge=_below,
    why="ours is another method",
    before=[EARLIER],
)
PRINTED = _claim("printed", "So it is in print.", "Table 1", kind="printed", judge=_below)
ALONE = _claim(
    "alone",
    "So it is of one method.",
    "Table 1",
    kind="printed",
    judge=_below,
    reason="its map is lost",
)
NEVER = _claim(
    "never", "It is beautiful.", "section 4", "", "not judged", reason="beauty is not measured"
)
CHECK = _claim("check", "Our sums agree", rule="", kind="own", judge=_below)
LACKS = _claim("lacks", "It stays there.", "section 3", judge=_below)


def asked(claim, value, ours=None, absent=""):
    """A sentence of these data, which have its name."""
    return claim.stated({claim.name: value}, {claim.name: ours}, absent)


def test_a_sentence_with_its_verdict():
    fails, unasked = asked(SAID, 2), asked(SAID, None, absent="no data")
    assert (fails.text, fails.source, fails.holds, fails.figures) == (
        "“It stays below one.”",
        "section 3",
        False,
        "not met: 2",
    )
    assert fails.asked == "judged on our runs"
    earlier = "Earlier rule, replaced after its verdict was known: below a half; it did not hold. Reason: half is nowhere in the paper."
    assert fails.notes == (
        "Rule: below one.",
        earlier,
        "What we know of why not: ours is another method.",
    )
    # Why not is told only where it does not hold.
    assert asked(SAID, 0.5).notes == unasked.notes == fails.notes[:2]
    assert (unasked.holds, unasked.figures) == (None, "no data")
    never = asked(NEVER, 1)
    assert [s.verdict for s in (fails, asked(SAID, 0), never)] == [
        "does not hold",
        "holds",
        "no verdict",
    ]
    assert (never.figures, never.asked) == ("beauty is not measured", "not judged")
    assert (asked(CHECK, 0).text, asked(CHECK, 0).notes) == ("Our sums agree", ())


def test_what_is_so_of_our_own_results_stands_beside_the_print():
    told = asked(PRINTED, 0, ours=3)
    assert told.holds is True
    assert told.notes[1] == "Asked of our own results, it does not hold: not met: 3."
    assert asked(PRINTED, 0, ours=0.5).notes[1] == "Asked of our own results, it holds: 0.5."
    assert asked(ALONE, 0, ours=3).notes[1] == "Not asked of our own results: its map is lost."
    # What is asked is taken from the data of the item, by name.
    assert (
        PRINTED.stated({"printed": 0, "said": 2}, {}).notes
        == asked(PRINTED, 0).notes
        == told.notes[:1]
    )
    assert PRINTED.stated({}, {"printed": 3}, "one scene") == asked(PRINTED, None, 3, "one scene")
    assert (
        asked(PRINTED, None, 3, "one scene").holds,
        asked(PRINTED, None, 3, "one scene").figures,
    ) == (None, "one scene")


def test_sentences_on_scenes_of_ours_are_not_counted_as_the_papers(tmp_path):
    claims = {
        "said": replace(SAID, kind="our scenes"),
        "lacks": replace(LACKS, name="lacks", of=["said"]),
    }
    item = Item("item", "Figure 1", lambda context: Outcome([], data={"said": 2}))
    done = reproduce(
        Paper("made", "A paper", "run", "Why.", "Cannot.", (item,), claims), tmp_path / "both"
    )
    assert done.status == 1  # `lacks` is the paper's and fails
    assert "Sentences judged on our runs: 1 of 1 do not hold, 0 hold." in done.totals
    assert (
        "Sentences asked of scenes of ours, not counted as the paper's: 1 of 1 do not hold, 0 hold."
        in done.totals
    )
    alone = reproduce(
        Paper("made", "A paper", "run", "Why.", "Cannot.", (item,), {"said": claims["said"]}),
        tmp_path / "alone",
    )
    assert alone.status == 3
    text = alone.page.read_text()
    assert "What agrees: nothing was judged on our runs." in text
    assert (
        "Asked of scenes of ours in the place of scenes that are not published, 0 of 1 sentences hold"
        in text
    )


def test_the_judged_part_stands_before_the_rule():
    part = replace(SAID, judged_part="its upper end").stated({"said": 0}, {})
    assert part.notes[:2] == ("Judged: only its upper end.", "Rule: below one.")


@pytest.mark.parametrize(
    ("holds", "reason", "note"),
    [
        (True, "", "below a half; it held. The reason was not recorded."),
        (None, "why", "below a half; its verdict was not recorded. Reason: why."),
    ],
)
def test_earlier_rules_show_only_what_was_recorded(holds, reason, note):
    assert EarlierRule("below a half", holds, reason).note.endswith(note)


def test_data_are_named_as_the_judge_names_them():
    def judge(first, second, limit=1):
        yield f"{first} {second}", first < second * limit

    assert (
        Claim("c", "It is less.", judge=judge)
        .stated({"second": 2, "first": 1, "limit": 0}, {}, "")
        .figures
        == "1 2"
    )


def test_cases_that_do_not_hold_come_first():
    assert verdict([("a 1", True), ("b 2", False)]) == (Verdict.FAILS, "not met: b 2; a 1")
    assert verdict([("a 1", True)]) == (Verdict.HOLDS, "a 1")
    assert verdict([]) == (Verdict.NONE, "no data")


@pytest.mark.parametrize(
    ("cases", "expected"),
    [
        ([True, True], Verdict.HOLDS),
        ([True, None], Verdict.NOT_DECIDED),
        ([None, None], Verdict.NOT_DECIDED),
        ([True, None, False], Verdict.FAILS),
        ([False], Verdict.FAILS),
    ],
)
def test_one_case_against_a_sentence_decides_and_an_open_case_leaves_it_open(cases, expected):
    decision = verdict((f"case {i}", holds) for i, holds in enumerate(cases))
    assert decision.verdict is expected
    assert decision.figures.count("not decided: ") == cases.count(None)
    assert decision.figures.count("not met: ") == cases.count(False)


def test_a_case_of_numpy_is_a_case():
    assert verdict([("a", np.bool_(False))]).verdict is Verdict.FAILS
    assert verdict([("a", np.bool_(True))]).verdict is Verdict.HOLDS


def _open(value):
    yield f"{value}", None


OPEN = _claim("open", "It stays below one.", "section 3", judge=_open)


def test_undecided_sentences_are_counted_apart_and_are_no_failures(tmp_path):
    statement = asked(OPEN, 1)
    assert (statement.verdict, statement.holds) == ("not decided", None)
    assert statement.figures == "not decided: 1"
    item = Item("item", "Figure 1", lambda context: Outcome([], data={"open": 1, "said": 0}))
    claims = {"open": OPEN, "said": SAID}
    done = reproduce(Paper("made", "A paper", "run", "Why.", "No.", (item,), claims), tmp_path)
    assert done.status == 0
    assert "Sentences judged on our runs: 0 of 2 do not hold, 1 hold, 1 are not decided." in (
        done.totals
    )
    counts = json.loads((tmp_path / "counts.json").read_text())
    assert counts["sentences"]["runs"]["undecided"] == 1
    assert counts["claims"]["open"]["verdict"] == "not decided"
    page = done.page.read_text()
    assert (
        "Not decided, because differences are not significant or scenes are too few: 1 sentence."
        in page
    )
    assert "<strong>not decided</strong> “It stays below one.”" in page


def test_our_own_results_may_be_undecided_too():
    printed = replace(PRINTED, judge=_open)
    note = printed.stated({"printed": 0}, {"printed": 3}).notes[1]
    assert note == "Asked of our own results, it is not decided: not decided: 3."


def test_the_tested_part_of_a_sentence_is_marked(tmp_path):
    part = replace(SAID, says="It is <flat> & stays below one.", tested_parts=["<flat> & stays"])
    assert part.stated({"said": 0}, {}).notes[0] == "Tested: only “<flat> & stays”."
    item = Item("item", "Figure 1", lambda context: Outcome([], data={"said": 0}))
    done = reproduce(
        Paper("made", "A paper", "run", "Why.", "No.", (item,), {"said": part}), tmp_path
    )
    assert "“It is <mark>&lt;flat&gt; &amp; stays</mark> below one.”" in done.page.read_text()
    with pytest.raises(ValueError, match="said: the tested part 'above' does not occur"):
        replace(SAID, tested_parts=["above"])


def test_order_of_verdicts():
    order = [asked(CHECK, 2), asked(SAID, None), asked(SAID, 0), asked(OPEN, 0), asked(SAID, 2)]
    assert failures_first(order) == order[::-1]


def test_a_tolerance_needs_a_reason():
    with pytest.raises(ValueError, match="a, b: a tolerance needs its reason"):
        Comparison("a", "b", 1.0, 1.0, 0.1, 0.1, "")


def _paper(*, number=1.0, said=0.0, printed=0.0, check=0.0):
    """A paper with a number of each kind; the published ones are 1.00, 7 without a verdict, and 8 that is not measured."""
    comparisons = [
        Comparison("row", "judged", 1.0, number, 0.1, 0.1, "two digits"),
        Comparison("row", "shown", 7.0, 70.0, None, None, "another scene"),
        Comparison("row", "absent", 8.0, None, 0.1, 0.1, "two digits"),
    ]
    data = {"said": said, "printed": printed, "check": check}
    item = Item("item", "Table 1", lambda context: Outcome([Text("text")], comparisons, data))
    other = Claim(
        "other",
        "It is asked elsewhere.",
        "section 3",
        "below one",
        item=("another",),
        of=["said"],
        judge=_below,
    )
    claims = {c.name: c for c in (CHECK, SAID, PRINTED, NEVER, LACKS, other)}
    gone = {"It was said": "held; the text has no such sentence"}
    return Paper(
        "made",
        "A paper",
        "it is run again",
        "The reason is known.",
        "Beauty cannot be judged.",
        (item,),
        claims,
        gone,
        ["It is strong. (section 7)"],
    )


HELD = [
    "0 of 1 judged lie outside",
    "0 of 2 do not hold, 1 hold, 1 were not asked",
    "0 of 1 do not",
    "not judged: 1.",
    "0 of 1 do",
]


@pytest.mark.parametrize(
    ("values", "status", "changed"),
    [
        ({}, 0, {}),
        ({"number": 1.11}, 1, {0: "1 of 1 judged lie outside"}),
        ({"said": 1}, 1, {1: "1 of 2 do not hold, 0 hold, 1 were"}),
        ({"printed": 1}, 1, {2: "1 of 1 do not"}),
        # A check of our own moves no total but its own line, and has an exit status of its own.
        ({"check": 1}, 3, {4: "1 of 1 do not hold, 0 hold"}),
        ({"check": 1, "said": 1}, 1, {1: "1 of 2 do not", 4: "1 of 1 do not"}),
    ],
)
def test_totals_and_exit_status(tmp_path, values, status, changed):
    done = reproduce(_paper(**values), tmp_path)
    assert done.status == status
    for i, (line, wanted) in enumerate(zip(done.totals, HELD, strict=True)):
        assert changed.get(i, wanted) in line
    assert "1 are shown without a verdict, 1 were not measured" in done.totals[0]


def test_limits_on_one_side_are_counted_apart(tmp_path):
    published = ((1.0, 1.05), (1.0, 0.95), (1.0, 0.2), (1.0, 3.0))
    comparisons = [
        Comparison("row", "best", p, ours, None, 0.1, "lower is welcome") for p, ours in published
    ]
    comparisons.append(Comparison("row", "fixed", 1.0, 1.0, 0.1, 0.1, "two digits"))
    item = Item("item", "Table 1", lambda context: Outcome([], comparisons))
    told = reproduce(
        Paper("made", "A paper", "run", "Why.", "Cannot.", (item,), {}), tmp_path
    ).totals[0]
    assert "1 of 5 judged lie outside their tolerance, 4 are met" in told
    assert (
        "4 of those judged are limited on one side alone: 3 of these are met, 2 with the same limit on the other"
        in told
    )


def test_the_page_opens_with_the_counts_and_shows_failures_first(tmp_path):
    done = reproduce(_paper(number=1.2, said=3, check=4), tmp_path)
    page = done.page.read_text()
    places = [
        page.index(part)
        for part in (
            "A paper: it",
            "it is run again. What agrees: 0 of 1 printed numbers that can be judged, 0 of 1 sentences judged on our runs.",
            "What does not: 1 printed number that can be judged, 1 sentence judged on our runs, listed first below.",
            "Judged on the printed numbers alone, 1 of 1 sentences hold: this compares the paper with itself and reproduces nothing.",
            "1 rule replaced an earlier one after its verdict was known; 1 of the earlier rules had failed",
            "The reason is known.",
            "Beauty cannot be judged.",
            "Outside its tolerance: row, judged: 1 published, 1.2 ours (±0.1: two digits)",
            "does not hold</strong> “It stays below one.” (section 3)",
            "Judged on our runs.",
            "Rule: below one.",
            "Earlier rule, replaced after its verdict was known: below a half; it did not hold.",
            "What we know of why not: ours is another method.",
            "Our own check, in no total.",
            "Published numbers: 1 of 1",
            "another scene: row shown",
            "not measured, otherwise ±0.1: two digits: row absent",
            ">Table 1</h2>",
            "beauty is not measured",
            ">Rules that were replaced</h2>",
            ">Not asked</h2>",
            "It is strong. (section 7)",
            ">No longer asked</h2>",
            "held; the text has no such sentence",
        )
    ]
    assert places == sorted(places)
    replaced = page[page.index(">Rules that were replaced</h2>") : page.index(">Not asked</h2>")]
    cells = [
        replaced.index(text)
        for text in (
            "It stays below one.",
            "below a half",
            "it did not hold",
            ">below one<",
            "does not hold",
        )
    ]
    assert cells == sorted(cells)


def test_sentences_have_a_file_with_all_that_decides(tmp_path):
    reproduce(_paper(said=2), tmp_path)
    assert {p.name for p in (tmp_path / "tables").glob("*.csv")} == {
        "item.csv",
        "item_statements.csv",
    }
    rows = (tmp_path / "tables/item_statements.csv").read_text().splitlines()
    assert rows[0] == "verdict,kind,sentence,source,figures,notes"
    assert rows[1].startswith(
        'does not hold,judged on our runs,“It stays below one.”,section 3,not met: 2,"Rule: below one. Earlier'
    )


def test_the_kinds_on_the_command_line(monkeypatch, tmp_path, capsys):
    from stereo_framework.cli.reproduce import reproduce as command

    monkeypatch.setattr("stereo_framework.papers.find_paper", lambda name: _paper(check=1))
    assert command("made", out=tmp_path, json=True) == 3
    told = json.loads(capsys.readouterr().out)
    assert [t["kind"] for t in told] == ["published number"] * 3 + ["sentence"] * 5
    assert told[0] | {"judged": True, "is_outside_tolerance": False} == told[0]
    assert told[3] | {"holds": False, "text": "Our sums agree", "asked": KINDS["own"]} == told[3]
    assert command("made", out=tmp_path) == 3
    out = capsys.readouterr().out
    assert "our own check, in no total, DOES NOT HOLD: Our sums agree (not met: 1)" in out
    assert (
        "judged on our runs, holds: “It stays below one.” (section 3; 0.0; Rule: below one.; Earlier rule, replaced"
        in out
    )
    assert "Our own checks, in no total: 1 of 1 do not hold" in out


def test_an_item_shows_its_numbers_and_what_it_ran(tmp_path, small_scenes):
    def build(context):
        context.run({"name": "one", "include": "window", "scenes": ["synthetic/planes"]})
        return Outcome(
            [Picture("<svg/>", "curves", "Drawn", "curves.svg"), Text("What is told")],
            [Comparison("row", "bad", 1.0, 1.0, 0.1, 0.1, "why")],
        )

    paper = Paper(
        "made",
        "A paper",
        "run",
        "Why.",
        "Cannot.",
        (Item("item", "Figure 1", build, text="How to read it"),),
        {},
    )
    done = reproduce(paper, tmp_path)
    how, told, numbers, curves, ran = done.outcomes["item"].blocks
    assert (how.text, told.text, numbers.title, curves.description) == (
        "How to read it",
        "What is told",
        "Figure 1: published and ours",
        "curves",
    )
    assert ran.text.startswith("1 results\ntaxonomy2002")
    assert "Drawn" in done.page.read_text()
    assert (tmp_path / "figures" / "curves.svg").read_bytes() == b"<svg/>"
