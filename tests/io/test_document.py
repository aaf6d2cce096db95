"""Plain data with the locations of its values."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stereo_framework.io.document import Document, dict_of, document_of, list_of, same_location
from stereo_framework.io.locations import Faults, Location
from stereo_framework.io.yaml_text import parse

TEXT = """\
search: {step: 1}
aggregation:
- box
- {use: median, size: 5}
scenes: [007]
"""


@pytest.fixture
def script():
    """Return a document whose lines and columns are easy to count."""
    return parse(TEXT, "my.yaml", Faults())


def paths_of(data, path=()):
    """Return the paths of all values in data, by a plain recursion."""
    children = []
    if isinstance(data, dict):
        children = data.items()
    elif isinstance(data, list):
        children = enumerate(data)
    paths = {path}
    for key, value in children:
        paths |= paths_of(value, (*path, key))
    return paths


TEXTS = st.text("ab.", max_size=3)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-5, 5), TEXTS)


def containers(values):
    """Return short lists and dicts of values."""
    return st.lists(values, max_size=3) | st.dictionaries(TEXTS, values, max_size=3)


DATA = st.recursive(SCALARS, containers, max_leaves=8)


@given(data=DATA)
def test_each_value_has_a_location_and_data_stay_as_they_are(data):
    document = document_of(copy.deepcopy(data), Faults())
    assert document.data == data
    assert document.locations.keys() == paths_of(data)


@given(data=DATA, value=DATA, choice=st.integers(0, 100))
def test_a_new_value_replaces_the_old_one_with_its_locations(data, value, choice):
    document = document_of(data, Faults())
    paths = sorted(paths_of(data), key=repr)
    path = paths[choice % len(paths)]
    changed = document.with_value(path, same_location(value, Location("other")))
    assert changed.locations.keys() == paths_of(changed.data)
    assert changed.part(*path).data == value
    assert document.data == data
    for other, location in changed.locations.items():
        is_new = other[: len(path)] == path
        assert (location.file == "other") == is_new


@given(data=DATA)
def test_parts_make_the_whole_again(data):
    document = document_of(data, Faults())
    if isinstance(data, dict):
        again = dict_of(document.entries(), document.location)
    elif isinstance(data, list):
        again = list_of(document.items(), document.location)
    else:
        again = Document(data, {(): document.location})
    assert again.data == data
    assert again.locations == document.locations


def test_a_part_has_the_locations_of_its_values(script):
    median = script.part("aggregation", 1)
    assert median.data == {"use": "median", "size": 5}
    assert str(median.locations["size",]) == "my.yaml:4:23: aggregation.median.size"
    assert str(median.key("size")) == "my.yaml:4:17: aggregation.median.size"


@pytest.mark.parametrize(
    ("path", "location"),
    [
        (("refinement",), "my.yaml:1:1"),
        (("search", "maximum"), "my.yaml:1:9: search"),
        (("search", "step", "unit"), "my.yaml:1:16: search.step"),
        (("aggregation", 2), "my.yaml:3:1: aggregation"),
        (("aggregation", "use"), "my.yaml:3:1: aggregation"),
    ],
)
def test_a_missing_part_has_the_location_of_the_value_around_it(script, path, location):
    missing = script.part(*path)
    assert missing.data is None
    assert str(missing.location) == location


def test_a_single_value_is_a_list_of_one(script):
    assert [item.data for item in script.part("search").items()] == [{"step": 1}]
    stages = [item.data for item in script.part("aggregation").items()]
    assert stages == ["box", {"use": "median", "size": 5}]


def test_keys_are_removed_with_their_locations(script):
    rest = script.without_keys("aggregation", "unknown")
    assert rest.data == {"search": {"step": 1}, "scenes": [7]}
    assert rest.locations.keys() == paths_of(rest.data)
    assert script.without_keys("unknown") is script


def test_a_changed_value_keeps_the_location_of_its_key(script):
    changed = script.with_value(("search",), document_of({"step": 2}, Faults(), "search"))
    assert str(changed.key("search")) == "my.yaml:1:1: search"
    added = script.with_value(("search", "maximum"), document_of(9, Faults(), "--set"))
    assert added.data["search"] == {"step": 1, "maximum": 9}


def test_numbers_without_quotes_keep_their_text(script):
    location = script.locations["scenes", 0]
    assert location.unquoted_text == "007"
    assert location == Location("my.yaml", 5, 10, "scenes[0]")


@pytest.mark.parametrize(
    ("loc", "location"),
    [
        (("search", "step"), "my.yaml:1:16: search.step"),
        (("search", "step", "[key]"), "my.yaml:1:10: search"),
        (("search", "maximum"), "my.yaml:1:9: search.maximum"),
        # A single value may stand for a list with this value.
        (("search", "step", 0), "my.yaml:1:16: search.step"),
        (("aggregation", 1, "size"), "my.yaml:4:23: aggregation.median.size"),
    ],
)
def test_errors_of_pydantic_have_locations(script, loc, location):
    assert str(script.location_of(loc)) == location


def test_values_of_numpy_become_plain_values():
    faults = Faults()
    data = {"sizes": np.array([3, 5]), "weight": np.float64(0.5), "both": (1, 2)}
    document = document_of(data, faults)
    assert document.data == {"sizes": [3, 5], "weight": 0.5, "both": [1, 2]}
    assert not faults
    assert document_of({"sizes": {3, 5}}, faults, "axis").data == {"sizes": None}
    assert bool(faults)
