"""Tests of the results store: stored values, plans, and errors about damaged stores."""

import math

import pytest
from sweep_parts import lacking, stored

from stereo_framework.core.errors import DataError, ResultWarning, StereoFrameworkError
from stereo_framework.sweep import Result, Store
from stereo_framework.sweep.identity import result_key
from stereo_framework.sweep.store import map_stem, read_scripts


def result(method="box9", **changes):
    """Return a result with some fields changed."""
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
    """Return a store that is open for writing."""
    with Store(tmp_path, create=True) as store:
        yield store


def methods(store, **options):
    """Return the methods of the stored results in order."""
    return [r.method for r in store.results(**options)]


def test_stored_result_has_all_values_and_can_be_stored_again(store, tmp_path):
    """Read the same values that were written."""
    store.add("a", result())
    with Store(tmp_path / "other", create=True) as other_store:
        other_store.add("b", store.get("a"))
        copy = other_store.get("b")
    # NaN differs from itself, so the statistics are compared one by one.
    without_statistics = {"statistics": None}
    assert copy.record() | without_statistics == result().record() | without_statistics
    assert copy.statistics["bad_pixels_all"] == 12.5
    assert math.isnan(copy.statistics["rms_error_textureless"])
    assert copy.script == result().script
    assert store.get("b") is None


@pytest.mark.parametrize("field", ["parameters", "script"])
def test_damaged_parameters_and_scripts_are_reported_when_they_are_read(field, store):
    """The parameters and the script are parsed only if they are read."""
    store.add("a", result())
    store._db.execute(f"UPDATE results SET {field} = '[1]'")
    damaged = store.get("a")
    message = r"results\.sqlite: may be damaged: .*; choose another folder, or delete this"
    with pytest.raises(DataError, match=message):
        dict(getattr(damaged, field))


def test_plan_orders_the_results_of_the_last_command(store, tmp_path):
    """Keep results of earlier commands in the store, but do not list them."""
    store.set_listed_keys(["a", "b", "c"])
    for key in ("c", "a"):
        store.add(key, result(method=key))
    assert methods(store) == ["a", "c"]
    assert lacking(tmp_path).startswith("2 of 3 results are done (66 %), and the run is going on")
    # Another script shares one of these results.
    store.set_listed_keys(["c", "d"])
    assert (methods(store), methods(store, every=True)) == (["c"], ["a", "c"])
    store.add("elsewhere", result(method="theirs"), is_external=True)
    store.set_listed_keys(["c", "a"])
    assert (methods(store), lacking(tmp_path)) == (["c", "a", "theirs"], "")
    store.add("c", result(method="again"))
    assert methods(store) == ["again", "a", "theirs"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"no results there \(results.sqlite is missing\); 'run SCRIPT --out "),
        # Another process may have created the file only now.
        ("", "no results there"),
        ("a text that is as long as a database" * 100, "is not a results store"),
    ],
)
def test_folder_without_a_store_is_refused(content, message, tmp_path):
    """Refuse a missing file, an empty file and a file of another format."""
    if content is not None:
        (tmp_path / "results.sqlite").write_text(content)
    with pytest.raises(DataError, match=message):
        Store(tmp_path)


def test_failed_write_keeps_earlier_results(store, tmp_path):
    """Write each result in its own transaction."""
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
def test_first_damaged_script_is_named_and_others_are_counted(tmp_path, damaged, end):
    """Warn only once, because results are shown without the scripts."""
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
    """Name a map after the scene, the method and the identity of the run."""
    assert map_stem(result(**change)) != map_stem(result())
    assert map_stem(result()) == "synthetic-planes_box9_0123456789abcdef"


def test_results_of_a_run_do_not_include_runs_with_a_similar_identity(store):
    """Distinguish identities of which one is the beginning of the other."""
    runs = ("abc", "abcd", "ab", 'abc"', "abc,")
    for run in runs:
        for protocol in ("p", "q"):
            store.add(result_key(run, "m", protocol, "0"), result(id=run, protocol=protocol))
    for run in runs:
        assert [(r.id, r.protocol) for r in store.of_run(run)] == [(run, "p"), (run, "q")]
