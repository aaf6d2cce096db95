"""The results store: what goes in comes out, nothing is mixed up, faults are told."""

import math

import pytest
from sweep_parts import lacking, stored

from stereo_framework.core.errors import DataError, ResultWarning, StereoFrameworkError
from stereo_framework.sweep import Result, Store
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.store import map_stem, read_scripts


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
    store.set_listed_keys(["a", "b", "c"])
    for key in ("c", "a"):
        store.add(key, result(method=key))
    assert methods(store) == ["a", "c"]
    assert lacking(tmp_path).startswith(
        "1 results are still missing; if the run is not going on, it was stopped early"
    )
    # Another script shares one of them.
    store.set_listed_keys(["c", "d"])
    assert (methods(store), methods(store, every=True)) == (["c"], ["a", "c"])
    store.add("elsewhere", result(method="theirs"), is_external=True)
    store.set_listed_keys(["c", "a"])
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
    store.set_listed_keys(["a", "b"])
    store.add("a", result(method="a"))
    store._db.execute("PRAGMA query_only = ON")
    with pytest.raises(StereoFrameworkError, match=r"cannot be written.*earlier results are kept"):
        store.add("b", result(method="b"))
    assert [r.method for r in stored(tmp_path)] == ["a"]


@pytest.mark.parametrize(
    ("damaged", "end"),
    [
        (1, ""),
        (2, " (1 more scripts cannot be read)"),
        (3, " (2 more scripts cannot be read)"),
    ],
)
def test_the_first_damaged_script_is_named_and_others_are_counted(tmp_path, damaged, end):
    for number in range(damaged):
        (tmp_path / f"bad{number}.resolved.yaml").write_text("[")
    (tmp_path / "good.resolved.yaml").write_text("name: good")
    with pytest.warns(ResultWarning) as warned:
        scripts = read_scripts(tmp_path)
    assert scripts == {"good.resolved.yaml": {"name": "good"}}
    [line] = [str(warning.message) for warning in warned]
    assert line.startswith(f"{tmp_path / 'bad0.resolved.yaml'}: is damaged: ")
    assert line.endswith(f"; delete it, and the next run writes it again{end}")


@pytest.mark.parametrize(
    "change",
    [
        {"scene": "other"},
        {"method": "other"},
        {"id": "fedcba9876543210"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_maps_of_other_scenes_methods_and_runs_have_other_files(change):
    assert map_stem(result(**change)) != map_stem(result())
    assert map_stem(result()) == "synthetic-planes_box9_0123456789abcdef"


def test_results_of_one_run_do_not_contain_those_of_runs_with_a_similar_name(store):
    runs = ("abc", "abcd", "ab", 'abc"', "abc,")
    for run in runs:
        for protocol in ("p", "q"):
            store.add(result_key(run, "m", protocol, "0"), result(id=run, protocol=protocol))
    for run in runs:
        assert [(r.id, r.protocol) for r in store.of_run(run)] == [(run, "p"), (run, "q")]
