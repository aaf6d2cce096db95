"""Querying results from Python."""

import math

import pytest
from made_results import SCENES, result, sweep

from stereo_framework.core.errors import DataError, MissingExtraError, ParameterError
from stereo_framework.sweep import Store
from stereo_framework.sweep.result import ResultList
from stereo_framework.tables import formats
from stereo_framework.tables.results import Results, results

TRUNCATION, INTERVAL, BAD = "matching_cost.truncation", "matching_cost.interval", "bad_pixels_nonocc"
FOUND = Results(
    [
        result(
            r.scene,
            {"matching_cost": "absolute_difference", **r.axes},
            r.statistics,
            parameters={**r.parameters, "matching_cost.use": "absolute_difference", "optimization.use": "winner_take_all"},
        )
        for r in sweep({TRUNCATION: [1.0, 5.0, None], INTERVAL: [False, True]}, lambda scene, t, i: {BAD: (t or 12.345) + i})
    ]
)


def _values(found, key=TRUNCATION):
    return [r.axes[key] for r in found if r.scene == SCENES[0]]


@pytest.mark.parametrize(
    ("condition", "kept"),
    [
        (f"{TRUNCATION}=5", [5, 5]),
        (f"{TRUNCATION} = 5.0", [5, 5]),
        (f"{TRUNCATION}!=5", [1, 1, None, None]),
        (f"{TRUNCATION}=null", [None, None]),
        (f"{TRUNCATION}=none", [None, None]),
        (f"{TRUNCATION}<=5", [1, 1, 5, 5]),
        (f"{TRUNCATION}<5", [1, 1]),
        (f"{TRUNCATION}>1", [5, 5]),
        (f"{TRUNCATION}>=1", [1, 1, 5, 5]),
        (f"{TRUNCATION}=[1, null]", [1, 1, None, None]),
        (f"{INTERVAL}=true", [1, 5, None]),
        (f"{BAD}=12.35", [None]),  # as tables show it
        (f"{BAD}>6", [None, None]),
        ("matching_cost=absolute_difference", [1, 1, 5, 5, None, None]),
        ("optimization=winner_take_all", [1, 1, 5, 5, None, None]),
        ("scene=tsukuba", [1, 1, 5, 5, None, None]),
        ("scene!=tsukuba", []),
        ("protocol=p", [1, 1, 5, 5, None, None]),
    ],
)
def test_conditions(condition, kept):
    assert _values(FOUND.where(condition)) == kept


def test_keywords():
    found = FOUND.where(scene="tsukuba", **{TRUNCATION: [1, None], INTERVAL: True})
    assert [(r.scene, r.axes[TRUNCATION]) for r in found] == [(SCENES[0], 1), (SCENES[0], None)]
    # 1 is not true.
    with pytest.raises(ParameterError, match=f"{INTERVAL}: no result has '1'; there are: false, true"):
        FOUND.where(**{INTERVAL: 1})


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("scene", "'scene' is not a condition; expected key=value"),
        ("=3", "is not a condition"),
        ("scene=tskuba", "scene: no result has 'tskuba'; there are: .*; did you mean 'tsukuba'"),
        (f"{TRUNCATION}=7", f"{TRUNCATION}: no result has '7'; there are: 1.00, 5.00, null"),
        ("matching_cost.trunc=7", f"'matching_cost.trunc': no result has it; .* did you mean '{TRUNCATION}'"),
        (f"{TRUNCATION}<many", "'many' is not a number; < compares numbers"),
    ],
)
def test_wrong_conditions(condition, message):
    with pytest.raises(ParameterError, match=message):
        FOUND.where(condition)


def test_nothing_is_found_without_a_mistake():
    assert len(FOUND.where("scene=venus").where("scene=venus")) == 6
    assert len(FOUND.where("scene=venus", scene="tsukuba")) == 0
    assert len(Results([]).where("scene=venus")) == 0


def test_sorting():
    assert _values(FOUND.sort(f"-{TRUNCATION}", INTERVAL)) == [5, 5, 1, 1, None, None]
    assert _values(FOUND.sort(f"-{TRUNCATION}", INTERVAL), INTERVAL) == [False, True] * 3
    assert _values(FOUND.sort(BAD)) == [1, 1, 5, 5, None, None]
    unknown = Results([result(SCENES[0], {TRUNCATION: t}, {BAD: v}) for t, v in ((1, math.nan), (2, 5.0), (3, 7.0))])
    assert _values(unknown.sort(BAD)) == [2, 3, 1]
    assert _values(unknown.sort(f"-{BAD}")) == [3, 2, 1]
    with pytest.raises(ParameterError, match=f"did you mean '{BAD}'"):
        FOUND.sort("bad_pixel_nonocc")


def test_a_sequence():
    assert FOUND[0].scene == SCENES[0]
    assert isinstance(FOUND[2:4], Results)
    assert len(FOUND[2:4]) == 2


def test_what_run_returns_is_asked_as_what_was_stored():
    listed = results(ResultList(FOUND))
    assert list(listed) == list(FOUND)
    assert listed.to_pandas().equals(FOUND.to_pandas())


def test_to_pandas():
    frame = FOUND.to_pandas()
    assert list(frame.columns) == [
        *("id", "scene", "method", "protocol", TRUNCATION, INTERVAL, "matching_cost.use", "optimization.use"),
        *(BAD, "energy", "seconds", "error"),
    ]
    assert frame[TRUNCATION].isna().sum() == 4
    assert frame[INTERVAL].dtype == bool
    assert frame[BAD].max() == 13.345
    assert (frame.seconds == 0.5).all()


def test_columns_of_several_kinds_become_texts():
    frame = formats.frame(["a", "b"], [[1, True], ["x", 2], [None, None]])
    assert frame.a.tolist()[:2] == ["1", "x"]
    assert frame.b.tolist()[:2] == ["True", "2"]
    assert frame.a.isna().tolist() == [False, False, True]


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"pandas is not installed: pip install '\.\[tables\]' in the folder"):
        FOUND.to_pandas()


def test_a_stored_folder(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.plan(["a"])
        store.add("a", FOUND[0])
        store.plan(["b"])
        store.add("b", FOUND[1])
    assert [r.axes for r in results(tmp_path)] == [FOUND[1].axes]
    assert len(results(str(tmp_path), every=True)) == 2
    with pytest.raises(DataError, match="no results there"):
        results(tmp_path / "none")
