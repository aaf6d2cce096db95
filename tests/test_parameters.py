"""Parameters of stages: what is allowed, how it is said in words, and what defaults fill in."""

import functools
import re
from typing import Annotated, Literal

import numpy as np
import pytest
from annotated_types import Ge, Le, Lt

from stereo_framework import SearchRange
from stereo_framework.core.errors import ParameterError
from stereo_framework.core.parameters import (
    Fraction01,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Unit,
    describe,
    parameter_faults,
    with_defaults,
)
from stereo_framework.core.registration import of, stage

aggregation = functools.partial(stage, "aggregation", source="a test")

Size = Annotated[PositiveInt, Unit("pixels")]


def with_units(
    volume,
    *,
    size: Size = 3,
    widest: Size | None = None,
    limit: Annotated[Positive | None, Unit("grey levels")] = None,
    odd: Annotated[Size, Lt(9)] = 3,
    sizes: list[Size] = [3],  # noqa: B006  A list is the subject of this test.
    beta: Positive = 0.5,
): ...


def test_units_stand_in_annotations(registry):
    record = of(aggregation()(with_units))
    units = {name: record.unit(name) for name in record.parameters}
    expected = {
        "size": "pixels",
        "widest": "pixels",
        "limit": "grey levels",
        "odd": "pixels",
        "sizes": "pixels",
        "beta": "",
    }
    assert units == expected


def every_kind(
    volume,
    *,
    count: PositiveInt = 3,
    ratio: Fraction01 = 0.5,
    bound: Positive | None = None,
    flag: bool = False,
    mode: Literal["linear", "cubic"] = "cubic",
    name: str = "a",
    sizes: list[int] = [1, 2],  # noqa: B006  The list is never changed.
): ...


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("count", True, "true is not a whole number >= 1"),
        ("count", "20", "'20' is not a whole number >= 1"),
        ("count", 2.0, "2.0 is not a whole number >= 1"),
        ("count", 0, "0 is not a whole number >= 1"),
        ("count", None, "null is not a whole number >= 1"),
        ("count", [3], "[3] is not a whole number >= 1"),
        ("ratio", 1.5, "1.5 is not a number >= 0 and <= 1"),
        ("ratio", float("nan"), "nan is not a number >= 0 and <= 1"),
        ("bound", 0, "0 is not a number > 0 or null"),
        ("bound", False, "false is not a number > 0 or null"),
        ("bound", "20", "'20' is not a number > 0 or null"),
        ("bound", float("inf"), "inf is not a number > 0 or null"),
        ("flag", 1, "1 is not true or false"),
        ("flag", "no", "'no' is not true or false"),
        ("mode", "qubic", "'qubic' is not one of linear, cubic"),
        ("name", 5, "5 is not a text"),
        ("sizes", [1, "2"], "[1, '2'] is not a list of a whole number"),
        (
            "cuont",
            3,
            "no such parameter of every_kind; allowed parameters: bound, count, .*; did you mean 'count'?",
        ),
        ("volume", 3, "no such parameter of every_kind; allowed parameters: "),
    ],
)
def test_parameters_that_are_not_allowed_are_named(name, value, message):
    pattern = re.escape(message).replace(r"\.\*", ".*")
    found = parameter_faults(every_kind, {"ratio": 0.25, name: value})
    assert list(found) == [name]
    assert re.match(pattern, found[name])
    with pytest.raises(ParameterError, match=rf"^every_kind\.{name}: {pattern}"):
        with_defaults(every_kind, {name: value})


def test_all_faults_are_told_together():
    found = parameter_faults(every_kind, {"count": 0, "mode": 1, "wrong": 2})
    assert set(found) == {"count", "mode", "wrong"}
    with pytest.raises(ParameterError) as error:
        with_defaults(every_kind, {"count": 0, "mode": 1})
    assert len(str(error.value).splitlines()) == 2


def test_defaults_fill_what_is_not_given():
    assert parameter_faults(every_kind, {}) == {}
    resolved = with_defaults(every_kind, {"mode": "linear", "bound": 20})
    assert resolved == {
        "count": 3,
        "ratio": 0.5,
        "bound": 20,
        "flag": False,
        "mode": "linear",
        "name": "a",
        "sizes": [1, 2],
    }
    assert list(resolved) == ["count", "ratio", "bound", "flag", "mode", "name", "sizes"]
    assert isinstance(resolved["bound"], float)


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (int, "a whole number"),
        (float, "a number"),
        (bool, "true or false"),
        (str, "a text"),
        (Positive, "a number > 0"),
        (NonNegativeInt, "a whole number >= 0"),
        (Positive | None, "a number > 0 or null"),
        (Annotated[int, Ge(1), Le(9)], "a whole number >= 1 and <= 9"),
        (Annotated[float, Lt(0.5)], "a number < 0.5"),
        (Literal["a", "b"], "one of a, b"),
        (Literal["a"] | int, "a or a whole number"),
        (list[int], "a list of a whole number"),
        (tuple[float, ...], "a list of a number"),
        (SearchRange, "SearchRange"),
    ],
)
def test_annotations_in_words(annotation, words):
    assert describe(annotation) == words


def test_annotations_of_data_may_name_what_only_type_checkers_import():
    def mine(reference, *, size: Positive = 1.0):
        pass

    mine.__annotations__["reference"] = "NowhereImported"
    assert with_defaults(mine, {"size": 2.0}) == {"size": 2.0}


@pytest.mark.parametrize(
    ("kind", "said"),
    [("Pos", "name 'Pos' is not defined"), (np.ndarray, "ndarray is none of numbers")],
)
def test_annotations_that_nobody_can_check_are_told_with_their_place(kind, said):
    def mine(reference, *, size: kind = None):
        pass

    with pytest.raises(
        ParameterError, match=rf"test_parameters.py:\d+: an annotation of mine: .*{said}"
    ):
        with_defaults(mine, {})


def test_a_function_that_changes_its_default_changes_it_once():
    def mine(reference, *, sizes: list[int] = [3]):  # noqa: B006  A list is the subject of this test.
        pass

    with_defaults(mine, {})["sizes"].append(5)
    assert with_defaults(mine, {}) == {"sizes": [3]}
