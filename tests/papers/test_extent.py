"""Reports of a part of a paper: titles, first paragraphs, reasons, means and files."""

import json

import pytest
from failing_boundary2007 import AS_IN_THE_PAPER, results_of

from stereo_framework.page.page import Picture
from stereo_framework.papers import find_paper
from stereo_framework.papers.boundary2007 import items as boundary_items
from stereo_framework.papers.claim import Claim
from stereo_framework.papers.comparison import plain_table
from stereo_framework.papers.extent import Coverage, Extent, missing_mean
from stereo_framework.papers.hci2015 import items as hci_items
from stereo_framework.papers.paper import Context, Item, Outcome, Paper
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.papers.taxonomy2002 import items as taxonomy_items

SCENES = ["synthetic/planes", "synthetic/slits", "synthetic/stripes"]


def _fails(value):
    yield f"{value}", False


def _shown(context):
    """Show the scenes, without a run."""
    scenes = context.scenes(SCENES)
    table = plain_table("Scenes", ["scene"], [[scene.name] for scene in scenes])
    picture = Picture("<svg/>", "curves", "Drawn", "curves.svg")
    return Outcome([table, picture], data={"value": 1})


def _without_methods(context):
    """Leave the slow methods out of a quick reproduction."""
    if context.quick:
        context.omit("the slow methods")
    return Outcome([])


PAPER = Paper(
    "made",
    "A paper",
    "all of it is run again",
    "The paper-wide reason is known.",
    "Beauty cannot be judged.",
    (
        Item("shown", "Figure 1", _shown, quick=True),
        Item("slow", "Figure 2", lambda context: Outcome([])),
    ),
    {
        "claim": Claim(
            "claim",
            "It holds.",
            "section 1",
            item="shown",
            of=["value"],
            judge=_fails,
            why="on stripes it is not so",
        )
    },
    {"It was said": "held"},
)

REASONS = (
    "The paper-wide reason is known.",
    "Beauty cannot be judged.",
    "all of it is run again",
    "No longer asked",
)
REASON_OF_A_VERDICT = "on stripes it is not so"


def _page(tmp_path, **options):
    done = reproduce(PAPER, tmp_path, **options)
    return done, done.page.read_text()


def test_the_whole_paper_has_its_reasons_and_no_mark(tmp_path):
    done, page = _page(tmp_path)
    assert done.extent.whole
    assert done.title == "made: published and ours"
    assert all(reason in page for reason in (*REASONS, REASON_OF_A_VERDICT))


@pytest.mark.parametrize(
    ("options", "label", "sentence"),
    [
        (
            {"quick": True},
            "Quick: 1 scene of 3, 1 of 2 items",
            "1 of 2 items (shown) on 1 of the 3 scenes (synthetic/planes).",
        ),
        (
            {"item": "shown", "quick": True},
            "Quick, item shown: 1 scene of 3, 1 of 2 items",
            "1 of 2 items (shown) on 1 of the 3 scenes (synthetic/planes).",
        ),
        (
            {"item": "shown"},
            "Item shown: 3 scenes of 3, 1 of 2 items",
            "1 of 2 items (shown) on all of their scenes (synthetic/planes, synthetic/slits, synthetic/stripes).",
        ),
    ],
)
def test_a_part_is_named_in_title_heading_and_first_paragraph(tmp_path, options, label, sentence):
    done, page = _page(tmp_path, **options)
    assert f"<title>made: published and ours. {label}</title>" in page
    assert f"<h1>made: published and ours. {label}</h1>" in page
    assert f"This page shows a part of the paper: {sentence}" in page
    assert not [reason for reason in REASONS if reason in page]
    # The reason of a verdict is true of the item only if all of its scenes were run.
    assert (REASON_OF_A_VERDICT in page) == (not options.get("quick", False))
    assert done.extent.label == label


def test_missing_scenes_make_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.SCENES", [*SCENES, "nothing/absent"])
    done, page = _page(tmp_path)
    assert done.title == "made: published and ours. In part: 3 scenes of 4, 2 of 2 items"
    assert "all of it is run again" in page
    assert "The paper-wide reason is known." not in page
    assert REASON_OF_A_VERDICT not in page


def test_quick_files_are_marked_and_leave_the_whole_files(tmp_path):
    reproduce(PAPER, tmp_path)
    whole = {
        path.name: path.read_bytes()
        for folder in ("figures", "tables")
        for path in (tmp_path / folder).iterdir()
    }
    reproduce(PAPER, tmp_path, quick=True)
    files = {
        path.name: path
        for folder in ("figures", "tables")
        for path in (tmp_path / folder).iterdir()
    }
    assert {name: files[name].read_bytes() for name in whole} == whole
    assert "curves_quick.svg" in files
    assert files["shown_0_quick.csv"].read_text() == "scene\nsynthetic/planes\n"
    for ending in ("md", "tex"):
        assert "(quick: 1 scene of 3)" in files[f"shown_0_quick.{ending}"].read_text()
        assert "quick" not in files[f"shown_0.{ending}"].read_text()


def test_the_part_on_the_command_line(monkeypatch, tmp_path, capsys):
    from stereo_framework.cli.reproduce import reproduce as command

    monkeypatch.setattr("stereo_framework.papers.find_paper", lambda name: PAPER)
    command("made", out=tmp_path, quick=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "made: published and ours. Quick: 1 scene of 3, 1 of 2 items"
    totals = next(i for i, line in enumerate(lines) if line.startswith("Published numbers"))
    assert lines[totals - 1] == "Quick: 1 scene of 3, 1 of 2 items"
    command("made", out=tmp_path, quick=True, json=True)
    records = json.loads(capsys.readouterr().out)
    assert {record["part"] for record in records} == {"Quick: 1 scene of 3, 1 of 2 items"}
    command("made", out=tmp_path, json=True)
    assert {record["part"] for record in json.loads(capsys.readouterr().out)} == {"whole"}


def test_omissions_are_named_where_the_counts_look_whole(tmp_path):
    paper = Paper(
        "made",
        "A paper",
        "run",
        "Why.",
        "Cannot.",
        (Item("methods", "Table 1", _without_methods, quick=True),),
        {},
    )
    done = reproduce(paper, tmp_path, quick=True)
    assert done.extent.label == "Quick: 1 of 1 items, without the slow methods"
    assert "Left out: the slow methods." in done.page.read_text()
    assert reproduce(paper, tmp_path).extent.label == ""


def test_a_scene_without_data_is_counted_by_its_request():
    coverage = Coverage(requested={"a": None, "b": None})
    assert Extent(["x"], 2, coverage).sentence.endswith("1 of 2 items (x) on none of the 2 scenes.")
    assert missing_mean(coverage) == "a mean over 2 scenes, of which 2 were not run"
    coverage.available.update(a=None, b=None)
    assert missing_mean(coverage) == ""


@pytest.mark.parametrize("missing", [(), ("venus",)])
def test_means_of_boundary2007_need_all_scenes(missing, monkeypatch, tmp_path):
    scenes = [scene for scene in AS_IN_THE_PAPER if scene not in missing]
    results = [r for r in results_of(AS_IN_THE_PAPER) if r.scene in scenes]
    monkeypatch.setattr(boundary_items, "_results", lambda context: results)
    context = Context("boundary2007", tmp_path)
    context.coverage = Coverage(dict.fromkeys(AS_IN_THE_PAPER), dict.fromkeys(scenes))

    table1 = boundary_items.table1(context).comparisons
    means = [c for c in table1 if c.column == "Expected"]
    others = [c for c in table1 if c.column == "Tsukuba"]
    improvements = boundary_items.table2(context).comparisons
    assert len(means) == len(others) == 5
    assert all(c.ours is not None for c in others)
    assert {c.ours is None for c in [*means, *improvements]} == {bool(missing)}
    if missing:
        assert {c.reason for c in [*means, *improvements]} == {
            "a mean over 6 scenes, of which 1 was not run"
        }

    blocks = boundary_items.curves(context).blocks
    figures = {block.name for block in blocks if isinstance(block, Picture)}
    assert ({"roc_mean.svg", "figure7.svg"} <= figures) == (not missing)
    assert ("left out: a mean over 6 scenes" in getattr(blocks[0], "text", "")) == bool(missing)


@pytest.mark.parametrize("reason", ["", "a mean over 4 scenes, of which 3 were not run"])
def test_average_ranks_of_table_5_need_all_scenes(reason):
    rows = {"a": {"tsukuba_nonocc": 2.0}, "b": {"tsukuba_nonocc": 1.0}}
    table = taxonomy_items._all_twenty(rows, {"a": rows["a"]}, reason)
    assert [row[0].text for row in table.rows] == ["b", "a (ours)"]
    assert [row[1].value for row in table.rows] == ([None, None] if reason else [1.0, 2.0])
    assert any(reason in note for note in table.notes) == bool(reason)


def test_fits_over_all_scenes_stay_empty_in_a_quick_reproduction(monkeypatch, tmp_path):
    monkeypatch.setattr(hci_items, "results", lambda context: [])
    comparisons = hci_items.figure11(Context("hci2015", tmp_path, quick=True)).comparisons
    assert {(c.ours, c.reason) for c in comparisons} == {
        (None, "fits over all scenes, of which one was run")
    }


def test_notes_of_figure_3_belong_to_its_scenes(data, tmp_path):
    done = reproduce(find_paper("hci2015"), tmp_path, item="figure3", data=data, quick=True)
    page = done.page.read_text()
    assert "Planes on the pipes" in page
    assert "Playroom" not in page
    assert "handle of the mug" not in page
