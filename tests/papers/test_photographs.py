"""The study of photographs: parameters that are chosen on other scenes, sign tests, fractions, and its pages."""

import numpy as np
import pytest
from failing_photographs import PAPER, found, study
from made_results import result

from stereo_framework.papers.paper import Context
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.script import load

PLACES = {"photographs": "middlebury-v3/trainingQ", "roads": "kitti2015"}


def _results(errors, group="photographs", method="m"):
    """Results by size and scene."""
    return [
        result(
            f"{PLACES[group]}/{scene}",
            {"box.size": size},
            {"bad_pixels_nonocc": e, "bad_pixels_all": e + 1},
            method=method,
        )
        for size, own in errors.items()
        for scene, e in own.items()
    ]


def test_parameters_are_never_chosen_on_the_scene_itself():
    # On each scene the other size is best; on the other two the sum decides.
    errors = {5: {"a": 1.0, "b": 9.0, "c": 9.5}, 9: {"a": 8.0, "b": 2.0, "c": 3.0}}
    chosen = study.left_out(_results(errors)).set_index("scene")
    assert chosen[["error", "setting"]].T.to_dict("list") == {
        "a": [8.0, "size 9"],  # 5 has 18.5 on b and c, 9 has 5
        "b": [9.0, "size 5"],  # 10.5 against 11
        "c": [9.5, "size 5"],  # 10 against 10
    }


def test_of_roads_all_pixels_count():
    errors = {5: {"a": 1.0, "b": 2.0}}
    both = study.left_out([*_results(errors), *_results(errors, "roads")])
    assert both[["group", "error"]].to_numpy().tolist() == [
        ["photographs", 1],
        ["photographs", 2],
        ["roads", 2],
        ["roads", 3],
    ]
    assert study.left_out(_results(errors), region="all")["error"].tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("worse", "photographs", "roads"),
    # Two-sided: 2 / 2**10, 22 / 2**10 and 112 / 2**10; 2 / 2**8, 18 / 2**8 and 74 / 2**8.
    [(0, True, True), (1, True, False), (2, False, False), (9, False, False)],
)
def test_a_sign_test_decides(worse, photographs, roads):
    cases = list(study.fewer(found(worse, a=1, b=2), "a", "b", "{:.3f} px"))
    assert [holds for _, holds in cases] == [photographs, roads]
    for (figures, _), count in zip(cases, (10 - worse, max(0, 8 - worse)), strict=True):
        assert " px, fewer on" in figures
        assert f"fewer on {count} of" in figures


def test_equal_errors_and_few_scenes_are_no_evidence():
    assert [holds for _, holds in study.fewer(found(a=1, b=1), "a", "b")] == [False, False]
    assert list(study.fewer(found(a=1), "a", "b")) == []
    for scenes, asked in ((5, 0), (6, 1)):
        errors = [{5: {str(i): value for i in range(scenes)}} for value in (1.0, 2.0)]
        groups = study.left_out([*_results(errors[0]), *_results(errors[1], method="n")])
        assert [holds for _, holds in study.fewer(groups, "m", "n")] == [True] * asked


def test_locking_is_what_must_move():
    truth = np.arange(1600, dtype=np.float32) / 1600
    moved = study._locking([study._fraction(truth + 7)], [study._fraction(truth)])
    assert moved == pytest.approx(0, abs=1)  # of float32, at the ends of bins
    # All in one of sixteen bins: fifteen sixteenths must leave it.
    assert study._locking([np.zeros(50, np.float32)], [truth]) == pytest.approx(
        100 * 15 / 16, abs=0.1
    )


def test_the_name_of_a_light():
    for changed, told in (
        ({"exposure": 0.6}, "exposure .6"),
        ({"noise": 6}, "noise 6"),
        ({}, "as it is"),
    ):
        values = {"exposure": 1, "gamma": 1, "vignetting": 0, "noise": 0} | changed
        axes = {f"preprocessing.radiometric_change.{name}": value for name, value in values.items()}
        assert study._light(result("s", axes, {})) == told


def test_dots_lie_at_the_means():
    groups = {"photographs": {"b": [1.0, 3.0], "a": [4.0, 6.0]}, "roads": {"a": [7.0], "b": []}}
    first, second = study.ranked_dots_figure(groups, "bad pixels (%)", "Costs").axes
    assert [label.get_text() for label in first.get_yticklabels()] == ["b", "a"]
    dots = [
        [line.get_xydata()[0].tolist() for line in axes.lines if line.get_markersize() == 5]
        for axes in (first, second)
    ]
    assert dots == [[[2.0, 0.0], [5.0, 1.0]], [[7.0, 1.0]]]
    rings = [line.get_xdata().tolist() for line in first.lines if line.get_markersize() == 3]
    assert rings == [[1.0, 3.0], [4.0, 6.0]]


def test_pages_of_made_results(monkeypatch, tmp_path):
    """Every experiment with results of its own settings on as many scenes as a sign test needs, so that all tables, charts and files are there."""

    def made(context, name, **_):
        script = load(f"photographs/{name}")
        folders = [
            folder
            for folder in PLACES.values()
            if any(scene.startswith(folder) for scene in script.scenes)
        ]
        scenes = [f"{folder}/{i}" for folder in folders for i in range(6)]
        return [
            result(
                scene,
                dict(one.axes),
                {"bad_pixels_nonocc": 10.0 + k, "bad_pixels_all": 12.0 + k},
                method=one.method,
            )
            for k, one in enumerate(script.settings)
            for scene in scenes
        ]

    monkeypatch.setattr(Context, "run", made)
    for item in ("costs", "light", "aggregation", "optimizers", "post_processing", "methods"):
        done = reproduce(PAPER, tmp_path, item=item)
        assert item == "light" or (tmp_path / "figures" / f"{item}.svg").stat().st_size > 2000
        assert (tmp_path / "tables" / f"{item}_0.csv").read_text().count("\n") > 8
        assert all(s.holds is not None for s in done.statements), item
    assert (tmp_path / "figures" / "methods_time.svg").is_file()
    assert "| fine\\* |" in (tmp_path / "tables" / "methods_0.md").read_text()


@pytest.mark.slow
def test_quick_on_real_scenes(data, tmp_path):
    done = reproduce(PAPER, tmp_path, data=data, quick=True)
    assert len(done.outcomes) == 7
    names = (
        "costs",
        "aggregation",
        "optimizers",
        "sub_pixel",
        "post_processing",
        "methods",
        "methods_time",
    )
    assert {path.stem for path in (tmp_path / "figures").glob("*.svg")} == {
        f"{name}_quick" for name in names
    }


def test_the_scenes_are_those_of_the_groups():
    scenes = load("photographs/costs").scenes
    assert [sum(s.startswith(folder) for s in scenes) for folder, _ in study.GROUPS.values()] == [
        10,
        8,
        4,
        4,
    ]
