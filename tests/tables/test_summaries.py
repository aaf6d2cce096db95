"""Means and pivots: against pandas and by hand."""

import math

import numpy as np
import pytest
from made_results import SCENES, result, sweep

from stereo_framework.core.errors import ParameterError
from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.protocols import with_metrics
from stereo_framework.sweep import ResultSet
from stereo_framework.tables.averages import average_rows
from stereo_framework.tables.summaries import group, pivot

TRUNCATION, BOX = "matching_cost.truncation", "aggregation.box.size"
BAD, MATCHED = "bad_pixels_nonocc", "fraction_matched"


@pytest.fixture
def random_results():
    random = np.random.default_rng(0)
    axes = {"matching_cost": ["a", "b"], TRUNCATION: [1, 5, 20], BOX: [3, 9]}
    found = sweep(axes, lambda *_: {BAD: random.uniform(1, 50), MATCHED: random.uniform(0, 1)})
    return ResultSet(
        result(
            r.scene,
            r.axes,
            r.statistics,
            parameters={**r.parameters, "matching_cost.use": r.axes["matching_cost"]},
        )
        for r in found
    )


def test_group_is_what_pandas_groups(random_results):
    frame = random_results.frame
    for keys in ([TRUNCATION], ["scene", BOX], ["matching_cost.use"]):
        table = group(random_results, keys, [BAD, MATCHED])
        assert table.header == (*keys, "results", BAD, MATCHED)
        expected = frame.groupby(keys, sort=False)[[BAD, MATCHED]].mean()
        assert len(table.rows) == len(expected)
        for row in table.rows:
            assert row[len(keys)] == len(frame) / len(expected)
            np.testing.assert_allclose(
                row[-2:], expected.loc[row[: len(keys)] if len(keys) > 1 else row[0]], rtol=1e-12
            )


def test_pivot_is_what_pandas_pivots(random_results):
    frame = random_results.frame
    table = pivot(random_results, [TRUNCATION], ["scene", "matching_cost"], [BAD])
    assert table.header == (TRUNCATION, "tsukuba, a", "tsukuba, b", "venus, a", "venus, b")
    expected = frame.pivot_table(BAD, TRUNCATION, ["scene", "matching_cost.use"])
    np.testing.assert_allclose([row[1:] for row in table.rows], expected.to_numpy(), rtol=1e-12)
    assert [row[0] for row in table.rows] == [1, 5, 20]
    assert (
        table.title
        == f"{BAD} (%, lower is better) by scene, matching_cost; mean over 2 values of {BOX}"
    )
    coverage = 100 * frame["fraction_matched"]
    assert table.notes == (
        f"{coverage.min():.3g} to {coverage.max():.3g} % of the pixels have an estimate",
        "p: as one likes",
    )
    # The best of each scene, over all settings.
    values = expected.to_numpy()
    columns = {
        s: [i for i, (scene, _) in enumerate(expected.columns) if scene == s] for s in SCENES
    }
    wanted = set()
    for scene in SCENES:
        row, column = np.unravel_index(np.argmin(values[:, columns[scene]]), (3, 2))
        wanted.add((int(row), columns[scene][int(column)] + 1))
    assert table.best == wanted


def test_what_was_averaged_is_said():
    found = sweep({TRUNCATION: [1, 5], "seed": [1, 2, 3]}, lambda scene, t, seed: {BAD: t + seed})
    assert (
        group(found, [TRUNCATION], [BAD]).title
        == "mean over 2 scenes (tsukuba, venus), 3 values of seed"
    )
    assert group(found, ["scene", TRUNCATION, "seed"], [BAD]).title == ""
    # Axes that move with what is grouped are not averaged.
    together = ResultSet(
        result(SCENES[0], {BOX: size, "aggregation.min_filter.size": size}, {BAD: 1.0})
        for size in (3, 5)
    )
    assert group(together, [BOX], [BAD]).title == ""


def test_no_mean_over_other_scenes_than_its_neighbours():
    found = sweep({TRUNCATION: [1, 5, None]}, lambda scene, t: {BAD: 10.0})
    table = group(found[:-1], [TRUNCATION], [BAD])
    assert table.rows == ((1, 2, 10.0), (5, 2, 10.0), (None, 1, None))
    assert (
        table.notes[0]
        == f"not given: {BAD} of truncation=none, because a run failed, or because not all of its settings ran on every scene"
    )
    assert table.texts()[2] == ["none", "1", "-"]
    failed_run = result(SCENES[1], {TRUNCATION: None}, {}, error="no luck")
    failed = ResultSet([*found[:-1], failed_run])
    assert group(failed, [TRUNCATION], [BAD]).rows[2] == (None, 1, None)


def test_means_where_scenes_have_different_settings_are_not_given():
    found = sweep({TRUNCATION: [1, 5], BOX: [3, 9]}, lambda scene, t, b: {BAD: float(t)})
    assert group(found[:-1], [BOX], [BAD]).rows == ((3, 4, 3.0), (9, 3, None))


def test_a_statistic_that_a_scene_does_not_have():
    def statistics(scene, truncation):
        return {
            BAD: 1.0 * truncation,
            "bad_pixels_textureless": 2.0 * truncation if scene == SCENES[0] else math.nan,
        }

    table = group(
        sweep({TRUNCATION: [1, 5]}, statistics), [TRUNCATION], [BAD, "bad_pixels_textureless"]
    )
    assert table.rows == ((1, 2, 1.0, 2.0), (5, 2, 5.0, 10.0))
    assert table.notes[0] == "bad_pixels_textureless: without venus, where it has no value"


def test_methods_with_settings_of_their_own():
    box = sweep({BOX: [3, 9]}, lambda scene, size: {BAD: 10.0 + size}, method="box")
    gc = sweep({"seed": [1, 2, 3]}, lambda scene, seed: {BAD: float(seed)}, method="gc")
    assert group(box + gc, ["method"], [BAD]).rows == (("box", 4, 16.0), ("gc", 6, 2.0))
    table = pivot(box + gc, ["method", BOX], ["scene"], [BAD])
    assert table.texts() == [
        ["box", "3", "13.00", "13.00"],
        ["box", "9", "19.00", "19.00"],
        ["gc", "-", "2.00", "2.00"],
    ]


def test_several_statistics_side_by_side_and_each_its_best():
    found = sweep({TRUNCATION: [1, 5]}, lambda scene, t: {BAD: 1.0 * t, MATCHED: 0.1 * t})
    table = pivot(found, [TRUNCATION], ["scene"], [BAD, MATCHED])
    assert table.header[1:] == tuple(
        f"{scene}, {name}" for scene in ("tsukuba", "venus") for name in (BAD, MATCHED)
    )
    assert table.best == {(0, 1), (1, 2), (0, 3), (1, 4)}
    down = pivot(found, ["scene", "statistic"], [TRUNCATION], [BAD, MATCHED])
    assert down.best == {(0, 2), (1, 3), (2, 2), (3, 3)}
    assert down.header == ("scene", "statistic", "1", "5")


@pytest.mark.parametrize(
    "make",
    [lambda r: group(r, ["scene"], [BAD]), lambda r: pivot(r, ["scene"], [TRUNCATION], [BAD])],
)
def test_protocols_are_not_mixed(make):
    found = sweep({TRUNCATION: [1]}, lambda scene, t: {BAD: 1.0})
    other = sweep(
        {TRUNCATION: [1]}, lambda scene, t: {BAD: 1.0}, protocol="q", protocol_text="q: otherwise"
    )
    with pytest.raises(
        ParameterError, match="results of p and q do not belong together; .* --where 'protocol=p'"
    ):
        make(found + other)
    version = sweep({TRUNCATION: [1]}, lambda scene, t: {BAD: 1.0}, protocol_text="p: as one liked")
    with pytest.raises(
        ParameterError, match="different versions of p; leave out those of earlier scripts"
    ):
        make(found + version)


def test_mistakes():
    found = sweep({TRUNCATION: [1]}, lambda scene, t: {BAD: 1.0, "pixels_all": 3.0})
    with pytest.raises(
        ParameterError, match=f"'{TRUNCATION}s': no result has it; .* did you mean '{TRUNCATION}'"
    ):
        group(found, [f"{TRUNCATION}s"], [BAD])
    with pytest.raises(ParameterError, match="scene occurs twice"):
        pivot(found, ["scene"], ["scene"], [BAD])
    with pytest.raises(ParameterError, match="tsukuba m: results of the same setting twice"):
        group(found + found[:1], ["scene"], [BAD])
    with pytest.raises(ParameterError, match="statistics are the columns of a group"):
        group(found, ["statistic"], [BAD])


def test_nothing_to_sum_up():
    assert group(ResultSet(), ["scene"], [BAD]).rows == ()
    assert pivot(ResultSet(), ["scene"], ["method"], [BAD]).rows == ()


@pytest.mark.parametrize("told", [[], "kitti2015", ["kitti2015", "of_a_plug_in_that_is_gone"]])
def test_the_average_of_a_protocol_with_further_metrics(told):
    """Errors of all scenes over pixels of all scenes."""
    text = str(with_metrics(resolve("kitti2015"), ("avg_error",)))
    counts = {SCENES[0]: (100.0, 1.0), SCENES[1]: (300.0, 5.0)}
    script = {"evaluation": {"protocol": told, "metrics": ["avg_error"]}}
    results = ResultSet(
        result(
            scene,
            {},
            {"pixels_all": count, "avg_error_all": error},
            protocol_text=text,
            script=script,
        )
        for scene, (count, error) in counts.items()
    )
    [mean] = average_rows(results)
    assert (mean.scene, mean.statistics) == (
        "average of 2",
        {"pixels_all": 400.0, "avg_error_all": 4.0},
    )


def test_there_is_no_average_where_nobody_knows_the_protocol():
    script = {
        "evaluation": {
            "protocol": ["of_a_plug_in", {"base": "of_a_plug_in"}],
            "metrics": [["odd"]],
        }
    }
    results = sweep({}, lambda scene: {BAD: 1.0}, script=script)
    assert average_rows(results) == []
