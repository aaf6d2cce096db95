"""The results store: what goes in comes out, nothing is mixed up, faults are told."""

import math

import pytest
from sweep_parts import lacking, stored

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.sweep import Result, Store


def result(method="box9", **changes):
    values = {
        "id": "0123456789abcdef",
        "scene": "synthetic/planes",
        "method": method,
        "parameters": {"aggregation.box.size": 9, "matching_cost.truncation": None},
        "axes": {"aggregation.box.size": 9},
        "protocol": "taxonomy2002",
        "protocol_text": "taxonomy2002: ...",
        "statistics": {"bad_pixels_all": 12.5, "rms_error_textureless": math.nan},
        "energy": 3.25,
        "seconds": {"matching_cost": 0.5},
        "warnings": ("one", "two"),
        "script": {"matching_cost": {"use": "absolute_difference"}},
    }
    return Result(**values | changes)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path, create=True) as store:
        yield store


def methods(store, **options):
    return [r.method for r in store.results(**options)]


def test_what_goes_in_comes_out_and_can_be_written_again(store, tmp_path):
    store.add("a", result())
    with Store(tmp_path / "other", create=True) as other:
        other.add("b", store.get("a"))
        found = other.get("b")
    assert found.record() | {"statistics": None} == result().record() | {"statistics": None}
    assert found.statistics["bad_pixels_all"] == 12.5
    assert math.isnan(found.statistics["rms_error_textureless"])
    assert found.script == result().script
    assert store.get("b") is None


def test_details_that_are_none_are_told_when_they_are_asked_for(store):
    store.add("a", result())
    store._db.execute("UPDATE results SET details = '[1]'")
    with pytest.raises(
        DataError,
        match=r"results\.sqlite: may be damaged: list indices .*; choose another folder, or delete it",
    ):
        store.get("a").record()


def test_plans_order_results_and_do_not_mix(store, tmp_path):
    store.plan(["a", "b", "c"])
    for key in ("c", "a"):
        store.add(key, result(method=key))
    assert methods(store) == ["a", "c"]
    assert lacking(tmp_path).startswith(
        "1 results are still missing; if the run is not going on, it was stopped early"
    )
    # Another script shares one of them.
    store.plan(["c", "d"])
    assert (methods(store), methods(store, every=True)) == (["c"], ["a", "c"])
    store.add("elsewhere", result(method="theirs"), outside=True)
    store.plan(["c", "a"])
    assert (methods(store), lacking(tmp_path)) == (["c", "a", "theirs"], "")
    store.add("c", result(method="again"))
    assert methods(store) == ["again", "a", "theirs"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, r"no results there \(results.sqlite is missing\); 'run SCRIPT --out "),
        (lambda path: path.touch(), "no results there"),  # another is just making it
        (
            lambda path: path.write_text("no database, but long enough to be taken for one" * 100),
            "cannot be used as a results store",
        ),
    ],
)
def test_what_is_no_store_is_told(make, said, tmp_path):
    make(tmp_path / "results.sqlite")
    with pytest.raises(DataError, match=said):
        Store(tmp_path)


def test_a_write_that_fails_keeps_what_was_there(store, tmp_path):
    store.plan(["a", "b"])
    store.add("a", result(method="a"))
    store._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StereoFrameworkError, match=r"cannot be written.*earlier results are kept"):
        store.add("b", result(method="b"))
    assert [r.method for r in stored(tmp_path)] == ["a"]
