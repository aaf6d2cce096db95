"""The study of photographs: parameters that are chosen on other scenes, sign tests, fractions, and its pages."""

import re

import numpy as np
import pytest
from failing_photographs import found
from made_results import result

from stereo_framework.papers import find_paper
from stereo_framework.papers.paper import Context
from stereo_framework.papers.photographs import items
from stereo_framework.papers.photographs.items import fewer, left_out
from stereo_framework.papers.reproduce import reproduce

PLACES = {"photographs": "middlebury-v3/trainingQ", "roads": "kitti2015"}


def _results(errors, group="photographs", method="m"):
    """Results by size and scene."""
    return [
        result(f"{PLACES[group]}/{scene}", {"box.size": size}, {"bad_pixels_nonocc": e, "bad_pixels_all": e + 1}, method=method)
        for size, own in errors.items()
        for scene, e in own.items()
    ]


def test_parameters_are_never_chosen_on_the_scene_itself():
    # On each scene the other size is best; on the other two the sum decides.
    errors = {5: {"a": 1.0, "b": 9.0, "c": 9.5}, 9: {"a": 8.0, "b": 2.0, "c": 3.0}}
    chosen = left_out(_results(errors)).set_index("scene")
    assert chosen[["error", "setting"]].T.to_dict("list") == {
        "a": [8.0, "size 9"],  # 5 has 18.5 on b and c, 9 has 5
        "b": [9.0, "size 5"],  # 10.5 against 11
        "c": [9.5, "size 5"],  # 10 against 10
    }


def test_of_roads_all_pixels_count():
    errors = {5: {"a": 1.0, "b": 2.0}}
    both = left_out([*_results(errors), *_results(errors, "roads")])
    assert both[["group", "scene", "error"]].to_numpy().tolist() == [
        ["photographs", "a", 1.0],
        ["photographs", "b", 2.0],
        ["roads", "a", 2.0],
        ["roads", "b", 3.0],
    ]
    assert left_out(_results(errors), region="all")["error"].tolist() == [2.0, 3.0]


@pytest.mark.parametrize(
    ("worse", "photographs", "roads"),
    # Two-sided: 2 / 2**10, 22 / 2**10 and 112 / 2**10; 2 / 2**8, 18 / 2**8 and 74 / 2**8.
    [(0, True, True), (1, True, False), (2, False, False), (9, False, False)],
)
def test_a_sign_test_decides(worse, photographs, roads):
    cases = list(fewer(found(worse, a=1, b=2), "a", "b"))
    assert [holds for _, holds in cases] == [photographs, roads]
    counts = 10 - worse, max(0, 8 - worse)
    assert all(f"fewer on {count} of" in figures for count, (figures, _) in zip(counts, cases, strict=True))


def test_equal_errors_are_no_evidence():
    assert [holds for _, holds in fewer(found(a=1, b=1), "a", "b")] == [False, False]
    assert list(fewer(found(a=1), "a", "b")) == []


@pytest.mark.parametrize(("scenes", "asked"), [(5, 0), (6, 1)])
def test_a_few_scenes_decide_nothing(scenes, asked):
    groups = left_out(
        [*_results({5: {str(i): 1.0 for i in range(scenes)}}), *_results({5: {str(i): 2.0 for i in range(scenes)}}, method="n")]
    )
    assert [holds for _, holds in fewer(groups, "m", "n")] == [True] * asked


def test_figures_are_in_the_unit_that_is_given():
    assert all(re.search(r": \d\.\d % and \d\.\d %, fewer", told) for told, _ in fewer(found(a=1, b=2), "a", "b"))
    assert all(re.search(r": \d\.\d{3} px", told) for told, _ in fewer(found(a=1, b=2), "a", "b", "{:.3f} px"))


def test_locking_is_what_must_move():
    truth = np.arange(1600, dtype=np.float32) / 1600
    assert items._locking([items._fraction(truth + 7)], [items._fraction(truth)]) == pytest.approx(
        0, abs=1
    )  # of float32, at the ends of bins
    # All in one of sixteen bins: fifteen sixteenths must leave it.
    assert items._locking([np.zeros(50, np.float32)], [truth]) == pytest.approx(100 * 15 / 16, abs=0.1)


def test_the_name_of_a_light():
    for changed, told in (({"exposure": 0.6}, "exposure .6"), ({"noise": 6}, "noise 6"), ({}, "as it is")):
        values = {"exposure": 1, "gamma": 1, "vignetting": 0, "noise": 0} | changed
        axes = {f"preprocessing.radiometric_change.{name}": value for name, value in values.items()}
        assert items._light(result("s", axes, {})) == told


def test_pages_of_made_results(monkeypatch, tmp_path):
    """Every experiment with results of its own settings on as many scenes as a sign test needs, so that all tables, charts and files are there."""
    scenes = [f"{folder}/{i}" for folder in ("middlebury-v3/trainingQ", "kitti2015") for i in range(6)]

    def made(context, name, **_):
        from stereo_framework.script import load

        found = []
        for k, one in enumerate(load(f"photographs/{name}").settings):
            for scene in scenes:
                statistics = {"bad_pixels_nonocc": 10.0 + k, "bad_pixels_all": 12.0 + k}
                found.append(result(scene, dict(one.axes), statistics, method=one.method))
        return found

    monkeypatch.setattr(Context, "run", made)
    for item in ("costs", "light", "aggregation", "optimizers", "post_processing", "methods"):
        done = reproduce(find_paper("photographs"), tmp_path, item=item)
        assert item == "light" or (tmp_path / "figures" / f"{item}.svg").stat().st_size > 2000
        assert (tmp_path / "tables" / f"{item}_0.csv").read_text().count("\n") > 8
        assert all(s.holds is not None for s in done.statements), item
    assert (tmp_path / "figures" / "methods_time.svg").is_file()
    assert "| fine\\* |" in (tmp_path / "tables" / "methods_0.md").read_text()


@pytest.mark.slow
def test_quick_on_real_scenes(data, tmp_path):
    done = reproduce(find_paper("photographs"), tmp_path, quick=True)
    assert len(done.outcomes) == 7
    names = ("costs", "aggregation", "optimizers", "sub_pixel", "post_processing", "methods", "methods_time")
    assert {path.stem for path in (tmp_path / "figures").glob("*.svg")} == set(names)


def test_the_scenes_are_those_of_the_groups():
    from stereo_framework.papers.photographs.items import GROUPS
    from stereo_framework.script import load

    counts = [sum(scene.startswith(folder) for scene in load("photographs/costs").scenes) for folder, _ in GROUPS.values()]
    assert counts == [10, 8, 4, 4]
