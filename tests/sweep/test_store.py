"""The results store: what goes in comes out, nothing is mixed up, faults are told."""

import math
import sqlite3

import pytest

from stereo_framework.core.errors import DataError, StereoFrameworkError
from stereo_framework.sweep import Result, Store


def _result(method="box9", **changes):
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


def test_what_goes_in_comes_out(tmp_path):
    stored = _result()
    with Store(tmp_path, create=True) as store:
        store.plan(["a"])
        store.add("a", stored)
    with Store(tmp_path) as store:
        [found] = store.results()
    assert found.record() | {"statistics": None} == stored.record() | {"statistics": None}
    assert found.statistics["bad_pixels_all"] == 12.5
    assert math.isnan(found.statistics["rms_error_textureless"])
    assert found.script == stored.script


def test_what_is_read_can_be_written_again(tmp_path):
    stored = _result()
    with Store(tmp_path / "one", create=True) as one, Store(tmp_path / "two", create=True) as two:
        one.add("a", stored)
        two.add("a", one.get("a"))
        found = two.get("a")
    assert (found.script, found.parameters, found.seconds) == (stored.script, stored.parameters, stored.seconds)


def test_details_that_are_none_are_told_when_they_are_asked_for(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.add("a", _result())
        store._db.execute("UPDATE results SET details = '[1]'")
        found = store.get("a")
        with pytest.raises(
            DataError,
            match=r"results\.sqlite: damaged: list indices must be integers or slices, not str; choose another folder, or delete it",
        ):
            found.record()


def test_results_come_in_the_order_of_the_plan_not_of_writing(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.plan(["a", "b", "c"])
        for key in ("c", "a"):
            store.add(key, _result(method=key))
        assert [r.method for r in store.results()] == ["a", "c"]
        assert store.missing() == 1


def test_a_changed_script_does_not_mix_with_earlier_results(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.plan(["a", "b"])
        store.add("a", _result(method="a"))
        store.add("b", _result(method="b"))
        store.plan(["b", "c"])
        assert [r.method for r in store.results()] == ["b"]
        assert {r.method for r in store.results(every=True)} == {"a", "b"}
        # The first script again: its own results, complete.
        store.plan(["a", "b"])
        assert [r.method for r in store.results()] == ["a", "b"]
        assert store.missing() == 0


def test_a_plan_grows(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.plan(["other"])
        store.plan(["b"])
        store.plan(["a", "b"], after=True)
        for key in ("a", "b"):
            store.add(key, _result(method=key))
        assert [r.method for r in store.results()] == ["b", "a"]
        assert store.missing() == 0
        store.plan(["a"])
        assert [r.method for r in store.results()] == ["a"]


def test_a_store_that_another_is_just_making_has_no_results_yet(tmp_path):
    (tmp_path / "results.sqlite").touch()
    with pytest.raises(DataError, match="no results there"):
        Store(tmp_path)
    Store(tmp_path, create=True).close()
    Store(tmp_path).close()


def test_the_same_key_is_replaced(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.plan(["a"])
        store.add("a", _result(error="out of memory"))
        store.add("a", _result())
        assert [r.error for r in store.results()] == [None]


def test_no_results(tmp_path):
    with pytest.raises(DataError, match=r"no results there \(results.sqlite is missing\)"):
        Store(tmp_path)


def test_another_kind_of_file(tmp_path):
    (tmp_path / "results.sqlite").write_text("no database, but long enough to be taken for one" * 100)
    with pytest.raises(DataError, match="cannot be used as a results store"):
        Store(tmp_path)


def test_another_database(tmp_path):
    with sqlite3.connect(tmp_path / "results.sqlite") as db:
        db.execute("CREATE TABLE birds (name TEXT)")
    db.close()
    with pytest.raises(DataError, match="an SQLite file, but no results store"):
        Store(tmp_path)


def test_another_schema_version(tmp_path):
    Store(tmp_path, create=True).close()
    with sqlite3.connect(tmp_path / "results.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    before = (tmp_path / "results.sqlite").read_bytes()
    for create in (False, True):
        with pytest.raises(DataError, match="results of version 99, this program reads version 2"):
            Store(tmp_path, create=create)
    # What another version wrote stays as it is.
    assert (tmp_path / "results.sqlite").read_bytes() == before


def test_a_write_that_fails_keeps_what_was_there(tmp_path):
    with Store(tmp_path, create=True) as store:
        store.plan(["a", "b"])
        store.add("a", _result(method="a"))
        store._db.execute("PRAGMA query_only = ON")
        with pytest.raises(StereoFrameworkError, match=r"cannot be written.*earlier results are kept"):
            store.add("b", _result(method="b"))
    with Store(tmp_path) as store:
        assert [r.method for r in store.results()] == ["a"]
