"""Three kinds of comparison: published numbers, the paper's statements, our own checks; and that every claim can be proved wrong."""

import importlib
import json

import pytest

from stereo_framework.page.page import Text
from stereo_framework.papers import NAMES, find_paper
from stereo_framework.papers.claim import Claim, Verdict, cases, claims_table
from stereo_framework.papers.comparison import Comparison
from stereo_framework.papers.paper import Item, Outcome, Paper
from stereo_framework.papers.published import raw_table
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.tables.formats import to_text


def _below(value):
    return Verdict(value < 1, f"{value}")


SAID = Claim("below", "It stays below one.", _below, "section 3", quoted=True, why="ours is another method")
RETOLD = Claim("below", "It stays below one", _below, "section 3")
CHECK = Claim("check", "Our sums agree", _below)


@pytest.mark.parametrize("paper", NAMES)
def test_every_claim_can_be_proved_wrong(paper):
    claims = find_paper(paper).claims
    failing = importlib.import_module(f"failing_{paper}").FAILING
    assert {c.name for c in claims} == set(failing)
    assert len(claims) == len(failing)
    for claim in claims:
        assert claim.asked(*failing[claim.name]).holds is False, claim.name


@pytest.mark.parametrize("paper", [name for name in NAMES if name != "truth_free"])
def test_every_written_claim_is_judged(paper):
    # "efficient" is a pattern, of which a claim is made for each mark of a printed table.
    assert raw_table(paper, "claims").keys() - {c.name for c in find_paper(paper).claims} <= {"efficient"}


def test_the_papers_words_and_ours():
    said, retold, check = (claim.asked(2) for claim in (SAID, RETOLD, CHECK))
    assert (said.text, said.source) == ("“It stays below one.”", "section 3, the paper’s words")
    assert (retold.text, retold.source) == ("It stays below one", "section 3, in our words")
    assert check.source == ""
    assert said.why == "ours is another method"
    # Why not is told only where it does not hold.
    assert SAID.asked(0.5).why == SAID.unasked("no data").why == ""
    assert SAID.unasked("no data").holds is None


def test_cases_that_do_not_hold_come_first():
    assert cases([("a 1", True), ("b 2", False)]) == (False, "NOT b 2; a 1")
    assert cases([("a 1", True)]) == (True, "a 1")
    assert cases([]) == (None, "no data")


def test_claims_as_a_table():
    rows = to_text(claims_table("t", [RETOLD.asked(0), SAID.asked(2)]), "csv").splitlines()
    assert rows[0] == "verdict,text,source,figures,why not"
    assert rows[1] == 'does not hold,“It stays below one.”,"section 3, the paper’s words",2,ours is another method'
    assert rows[2].startswith("holds,It stays below one,")


def test_a_tolerance_needs_a_reason():
    with pytest.raises(ValueError, match="a, b: a tolerance needs its reason"):
        Comparison("a", "b", 1.0, 1.0, 0.1, 0.1, "")


def _paper(*, number=1.0, statement=0.0, check=0.0):
    """A paper with a number of each kind; the published ones are 1.00, 7 without a verdict, and 8 that is not measured."""
    comparisons = [
        Comparison("row", "judged", 1.0, number, 0.1, 0.1, "two digits"),
        Comparison("row", "shown", 7.0, 70.0, None, None, "another scene"),
        Comparison("row", "absent", 8.0, None, 0.1, 0.1, "two digits"),
    ]
    said = Claim("other", "Another sentence", _below, "section 4")
    told = [CHECK.asked(check), SAID.asked(statement), said.asked(0), said.unasked("one scene")]
    item = Item("item", "Table 1", lambda context: Outcome([Text("text")], comparisons, told))
    return Paper("made", "A paper", "Described.", (item,), (CHECK, SAID, said))


@pytest.mark.parametrize(
    ("values", "status", "totals"),
    [
        ({}, 0, ["0 of 1 judged lie outside their tolerance, 1 are met", "0 of 3 do not hold, 2 hold, 1 were", "0 of 1 do not"]),
        ({"number": 1.11}, 1, ["1 of 1 judged lie outside their tolerance, 0 are met", "0 of 3 do not hold", "0 of 1 do not"]),
        ({"statement": 1}, 1, ["0 of 1 judged", "1 of 3 do not hold, 1 hold, 1 were not checked", "0 of 1 do not hold"]),
        # A check of our own moves no total but its own line, and has an exit status of its own.
        ({"check": 1}, 3, ["0 of 1 judged", "0 of 3 do not hold, 2 hold, 1 were not checked", "1 of 1 do not hold, 0 hold"]),
        ({"check": 1, "statement": 1}, 1, ["0 of 1 judged", "1 of 3 do not hold", "1 of 1 do not hold"]),
    ],
)
def test_totals_and_exit_status(tmp_path, values, status, totals):
    done = reproduce(_paper(**values), tmp_path)
    assert done.status == status
    for line, wanted in zip(done.totals, totals, strict=True):
        assert wanted in line
    assert "1 are shown without a verdict, 1 were not measured" in done.totals[0]


def test_limits_on_one_side_are_counted_apart(tmp_path):
    published = ((1.0, 1.05), (1.0, 0.95), (1.0, 0.2), (1.0, 3.0))
    comparisons = [Comparison("row", "best", p, ours, None, 0.1, "lower is welcome") for p, ours in published]
    comparisons.append(Comparison("row", "fixed", 1.0, 1.0, 0.1, 0.1, "two digits"))
    paper = Paper("made", "A paper", "Described.", (Item("item", "Table 1", lambda context: Outcome([], comparisons)),))
    told = reproduce(paper, tmp_path).totals[0]
    assert "1 of 5 judged lie outside their tolerance, 4 are met" in told
    assert (
        "4 of those judged are limited on one side alone: 3 of these are met, 2 with the same limit on the other side too."
        in told
    )


def test_the_page_tells_failures_first(tmp_path):
    done = reproduce(_paper(number=1.2, statement=3, check=4), tmp_path)
    page = done.page.read_text()
    places = [
        page.index(part)
        for part in (
            "Outside its tolerance: row, judged: 1 published, 1.2 ours (±0.1: two digits)",
            "does not hold</strong> “It stays below one.” (section 3, the paper’s words)",
            "What we know of why not: ours is another method",
            "our own check: does not hold</strong> Our sums agree",
            "Published numbers: 1 of 1",
            "another scene: row shown",
            "not measured, otherwise ±0.1: two digits: row absent",
            ">Table 1</h2>",
        )
    ]
    assert places == sorted(places)
    # In the item's own section too: what fails, then what holds, then our own checks.
    item = page[page.index("Table 1</h2>") :]
    assert item.index("It stays below") < item.index("not checked") < item.index("holds</strong>") < item.index("own check")


def test_the_kinds_have_their_own_files(tmp_path):
    reproduce(_paper(), tmp_path)
    assert {p.name for p in (tmp_path / "tables").glob("*.csv")} == {"item.csv", "item_statements.csv", "item_checks.csv"}
    assert "Our sums agree" not in (tmp_path / "tables/item_statements.csv").read_text()
    assert "Our sums agree" in (tmp_path / "tables/item_checks.csv").read_text()


def test_the_kinds_on_the_command_line(monkeypatch, tmp_path, capsys):
    from stereo_framework.cli.reproduce import reproduce as verb

    monkeypatch.setattr("stereo_framework.papers.find_paper", lambda name: _paper(check=1))
    assert verb("made", out=tmp_path, json=True) == 3
    told = json.loads(capsys.readouterr().out)
    assert [t["kind"] for t in told] == ["published number"] * 3 + ["statement"] * 3 + ["own check"]
    assert told[0] | {"judged": True, "outside": False} == told[0]
    assert told[-1] | {"holds": False, "text": "Our sums agree", "source": ""} == told[-1]
    assert verb("made", out=tmp_path) == 3
    out = capsys.readouterr().out
    assert "own check DOES NOT HOLD: Our sums agree" in out
    assert "statement holds: “It stays below one.” (section 3, the paper’s words; 0.0)" in out
    assert "Our own checks, in no total: 1 of 1 do not hold" in out
