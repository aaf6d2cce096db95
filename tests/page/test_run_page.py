"""The page of an output folder."""

from pathlib import Path

import numpy as np
import pytest
import yaml
from made_results import SCENES, kept, result, sweep

from stereo_framework import run
from stereo_framework.io import write_disparity, write_image
from stereo_framework.page.page import Details, Folded, Text
from stereo_framework.page.run_page import _sweeps, run_page
from stereo_framework.page.stored_pictures import Scenes

TRUNCATION, BAD = "matching_cost.truncation", "bad_pixels_nonocc"


def _stored(folder, results):
    return run_page(kept(folder, results))


def test_the_summary_has_methods_by_scenes_the_best_first(tmp_path):
    errors = {SCENES[0]: {5: 2.0, 20: 1.0, None: 3.0}, SCENES[1]: {5: 9.0, 20: 11.0, None: 10.0}}
    statistics = {
        "bad_pixels_nonocc": lambda scene, t: errors[scene][t],
        "rms_error_all": lambda scene, t: 1.0 if t == 5 else 2.0,
    }
    results = sweep(
        {TRUNCATION: [None, 20, 5]},
        lambda scene, t: {name: of(scene, t) for name, of in statistics.items()},
    )
    page = _stored(tmp_path, results)
    assert page.lead == "6 results, 3 methods, 2 scenes."
    table, others, protocol = page.sections[0].blocks
    assert table.title.startswith("bad_pixels_nonocc (%), protocol p: lower is better")
    assert table.header == ["method", "tsukuba", "venus", "mean", "mean rank", "seconds"]
    # Ranks on the two scenes: 5 has 2 and 1, 20 has 1 and 3, none 3 and 2.
    assert table.texts() == [
        ["truncation=5", "2.00", "9.00", "5.50", "1.50", "0.50"],
        ["truncation=20", "1.00", "11.00", "6.00", "2.00", "0.50"],
        ["truncation=none", "3.00", "10.00", "6.50", "2.50", "0.50"],
    ]
    assert table.best == {(0, 2), (0, 3), (0, 4), (1, 1)}
    assert isinstance(others, Folded)
    assert [one.title.split()[0] for one in others.blocks] == ["rms_error_all"]
    assert protocol == Details("How it was measured: protocol p", "as one likes")


def test_a_setting_is_called_alike_in_all_tables(tmp_path):
    errors = {5: 2.0, 20: 1.0}
    page = _stored(
        tmp_path, sweep({TRUNCATION: [5, 20]}, lambda scene, t: {"bad_pixels_nonocc": errors[t]})
    )
    summary, ranks = (
        next(s for s in page.sections if s.title == title).blocks[0]
        for title in ("Summary", "Ranks")
    )
    assert (
        [row[0] for row in summary.rows]
        == [row[1] for row in ranks.rows]
        == ["truncation=20", "truncation=5"]
    )


def test_the_summary_tells_densities(tmp_path):
    for folder, sparse in (("holes", 0.8), ("dense", 1.0)):
        matched = {5: 1.0, 20: sparse}
        results = sweep(
            {TRUNCATION: [5, 20]},
            lambda scene, t, of=matched: {"bad_pixels_nonocc": float(t), "fraction_matched": of[t]},
        )
        table = _stored(tmp_path / folder, results).sections[0].blocks[0]
        told = [row[table.header.index("density %")] for row in table.texts()]
        assert told == ["100.00", "80.00" if folder == "holes" else "100.00"]


def test_the_page_of_a_large_run_marks_the_best_of_all(tmp_path):
    """Of two protocols whose results are cut where they stand."""
    errors = {5: 2.0, 20: 1.0, None: 3.0}
    protocols = ({"protocol": name, "protocol_text": name} for name in "pq")
    _stored(
        tmp_path,
        [
            r
            for own in protocols
            for r in sweep({TRUNCATION: [*errors]}, lambda s, t: {BAD: errors[t]}, **own)
        ],
    )
    shown = run_page(tmp_path, limit=7)
    assert f"the first 7: 'report {tmp_path} --limit 0' shows all" in shown.lead
    listed = [
        folded.blocks[0].cells()
        for folded in next(s for s in shown.sections if s.title == "All results").blocks
    ]
    single = [
        [(row[2].text, row[3].mark) for row in rows if not row[0].text.startswith("average")]
        for rows in listed
    ]
    every = [("5", ""), ("20", "best"), ("none", "")]
    assert single == [every * 2, every[:1]]
    assert "--limit" not in run_page(tmp_path, limit=0).lead


def test_a_long_summary_ends_and_failed_runs_are_told(tmp_path):
    results = sweep(
        {TRUNCATION: [*range(50)]}, lambda scene, t: {"bad_pixels_all": 50.0 - t}, SCENES[:1]
    )
    failed = result(SCENES[0], {TRUNCATION: 99}, {}, error="broke", seconds={})
    table, notes, _, told = _stored(tmp_path, [*results, failed]).sections[0].blocks
    assert notes.text == "missing scores count as the worst: truncation=99 (bad_pixels_all)."
    assert table.header == ["method", "tsukuba", "seconds"]  # of one scene there is no mean
    assert [row[0] for row in table.rows] == [f"truncation={t}" for t in range(49, 9, -1)]
    assert "the best 40 of 51 methods and settings" in table.notes[0]
    assert told.summary == "1 runs failed"
    assert told.text.endswith("broke")


def test_results_that_cannot_be_compared_are_told(tmp_path):
    twice = [result(SCENES[0], {}, {"bad_pixels_all": bad}) for bad in (1.0, 2.0)]
    [told] = _stored(tmp_path / "twice", twice).sections[0].blocks
    assert isinstance(told, Text)
    assert "'m' has two scores" in told.text
    [told] = _stored(tmp_path / "none", [result(SCENES[0], {}, {"pixels": 1.0})]).sections[0].blocks
    assert "nothing was measured by which" in told.text


@pytest.fixture
def pair(tmp_path, monkeypatch):
    """The user's own pair: noise, shifted by two pixels."""
    monkeypatch.chdir(tmp_path)
    noise = np.random.default_rng(4).integers(0, 256, (24, 34), np.uint8)
    for name, image in (("left", noise[:, :32]), ("right", noise[:, 2:])):
        write_image(f"my/pair/{name}.png", np.ascontiguousarray(image))
    write_disparity("my/pair/truth.pfm", np.full((24, 32), 2, np.float32))
    scene = "{frames: [left.png, right.png], search: {minimum: 0, maximum: 4}, truth: truth.pfm}"
    Path("my/pair/scene.yaml").write_text(scene, encoding="utf-8")
    return "my/pair"


SCRIPT = {"name": "own", "matching_cost": "absolute_difference", "optimization": "winner_take_all"}


def test_own_pairs_show_their_pictures(pair, tmp_path):
    run(SCRIPT | {"confidence": ["left_right_consistency"]}, pair, out=tmp_path / "here", maps=True)
    page = run_page(tmp_path / "here", data=tmp_path)
    scenes = page.sections[1].blocks[0]
    assert isinstance(scenes, Scenes)
    assert scenes.columns == ["image", "truth", "own"]
    [row] = scenes.rows
    assert (row.name, row.note, row.limits) == ("pair", "", (0, 4))
    assert "confidence" in row.pictures["own"].about
    assert row.pictures["own"].caption.endswith("%")


def test_maps_stand_without_their_scene(pair, tmp_path):
    run(SCRIPT, pair, out=tmp_path, maps=True)
    Path("my/pair/scene.yaml").unlink()
    [row] = run_page(tmp_path, data=tmp_path).sections[1].blocks[0].rows
    assert list(row.pictures) == ["own"]
    assert row.note.startswith(
        "without image and truth: scene 'my/pair': this folder holds no scene.yaml"
    )


def test_sweeps_are_curves_with_the_best_marked(tmp_path):
    errors = {3: 5.0, 9: 2.0, 15: 4.0}
    results = sweep(
        {"aggregation.box.size": [3, 9, 15], TRUNCATION: [5, 20]},
        lambda scene, size, t: {"bad_pixels_nonocc": errors[size] + t / 100},
    )
    page = _stored(tmp_path, results)
    [section] = [s for s in page.sections if s.title == "Sweeps"]
    [curves] = section.blocks  # two values of the other axis are no curve
    assert curves.caption.startswith(
        "bad_pixels_nonocc over aggregation.box.size; the best of each curve has a ring; mean over 2 values"
    )
    # Means over the other axis: 2 + (0.05 + 0.2) / 2.
    points = [(3, pytest.approx(5.125)), (9, pytest.approx(2.125)), (15, pytest.approx(4.125))]
    assert curves.lines == {"tsukuba": points, "venus": points}
    assert curves.better == "lower"


def test_many_scenes_are_one_curve(tmp_path):
    results = sweep(
        {TRUNCATION: [5, 20, 40, None]},
        lambda scene, t: {"bad_pixels_nonocc": float(scene[1:]) + (t or 0)},
        [f"s{i}" for i in range(13)],
    )
    page = _stored(tmp_path, results)
    [curves] = next(s for s in page.sections if s.title == "Sweeps").blocks
    assert curves.lines == {"": [(5, 11), (20, 26), (40, 46), (None, 6)]}


@pytest.mark.parametrize(("scenes", "curves"), [(12, 12), (13, 1)])
def test_twelve_scenes_have_a_curve_each_and_more_share_one(scenes, curves):
    results = sweep(
        {TRUNCATION: [5, 20, 40]},
        lambda scene, t: {BAD: float(scene[1:]) + t},
        [f"s{i}" for i in range(scenes)],
    )
    [block] = _sweeps(results, BAD)
    assert len(block.lines) == curves


def test_plots_are_drawn_of_what_is_there(tmp_path):
    """Not of what an earlier run left in the folder, and without the plug-ins that brought their names."""
    axis = "refinement.of_a_plug_in.size"
    plots = {"good": {"x": axis, "y": BAD}, "lost": {"x": axis, "y": "mape_all"}}
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots/old.svg").write_text("<svg>old</svg>")
    (tmp_path / "m.resolved.yaml").write_text(
        yaml.safe_dump({"name": "m", "report": {"plots": plots}})
    )
    page = _stored(tmp_path, sweep({axis: [1, 2]}, lambda scene, size: {BAD: size}))
    good, lost = next(s for s in page.sections if s.title == "Plots").blocks
    assert (good.caption, lost) == ("good", Text("plot lost: no result has mape_all"))
