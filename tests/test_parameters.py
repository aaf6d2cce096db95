"""Parameters of stages: allowed values, their descriptions, and default values."""

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
from stereo_framework.core.registration import stage
from stereo_framework.core.stage import stage_of

aggregation = functools.partial(stage, "aggregation", source="a test")

Window = Annotated[PositiveInt, Unit("pixels")]


def stage_with_units(
    volume,
    *,
    size: Window = 3,
    widest: Window | None = None,
    limit: Annotated[Positive | None, Unit("grey levels")] = None,
    odd: Annotated[Window, Lt(9)] = 3,
    sizes: list[Window] = [3],  # noqa: B006  A list is the subject of this test.
    beta: Positive = 0.5,
): ...


def test_the_unit_of_a_parameter_is_part_of_its_annotation(registry):
    record = stage_of(aggregation()(stage_with_units))
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


def stage_with_all_types(
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
            "no such parameter of stage_with_all_types; "
            "allowed parameters: bound, count, .*; did you mean 'count'?",
        ),
        ("volume", 3, "no such parameter of stage_with_all_types; allowed parameters: "),
    ],
)
def test_a_message_gives_the_parameter_its_value_and_the_allowed_values(name, value, message):
    pattern = re.escape(message).replace(r"\.\*", ".*")
    faults = parameter_faults(stage_with_all_types, {"ratio": 0.25, name: value})
    assert list(faults) == [name]
    assert re.match(pattern, faults[name])
    with pytest.raises(ParameterError, match=rf"^stage_with_all_types\.{name}: {pattern}"):
        with_defaults(stage_with_all_types, {name: value})


def test_all_faults_are_reported_together():
    faults = parameter_faults(stage_with_all_types, {"count": 0, "mode": 1, "wrong": 2})
    assert set(faults) == {"count", "mode", "wrong"}
    with pytest.raises(ParameterError) as error:
        with_defaults(stage_with_all_types, {"count": 0, "mode": 1})
    assert len(str(error.value).splitlines()) == 2


def test_parameters_without_a_value_have_their_defaults():
    assert parameter_faults(stage_with_all_types, {}) == {}
    resolved = with_defaults(stage_with_all_types, {"mode": "linear", "bound": 20})
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
def test_annotations_are_described_in_the_words_of_a_script(annotation, words):
    assert describe(annotation) == words


def test_annotations_of_data_may_contain_names_that_are_not_imported():
    def stage_of_a_user(reference, *, size: Positive = 1.0):
        pass

    stage_of_a_user.__annotations__["reference"] = "NowhereImported"
    assert with_defaults(stage_of_a_user, {"size": 2.0}) == {"size": 2.0}


@pytest.mark.parametrize(
    ("annotation", "cause"),
    [
        ("Pos", "name 'Pos' is not defined"),
        (np.ndarray, "ndarray is not supported; expected numbers, texts or lists of these"),
    ],
)
def test_annotations_that_cannot_be_checked_are_refused_with_their_location(annotation, cause):
    def stage_of_a_user(reference, *, size: annotation = None):
        pass

    message = rf"test_parameters.py:\d+: an annotation of stage_of_a_user: .*{cause}"
    with pytest.raises(ParameterError, match=message):
        with_defaults(stage_of_a_user, {})


def test_a_stage_that_changes_its_default_list_changes_no_later_call():
    def stage_of_a_user(reference, *, sizes: list[int] = [3]):  # noqa: B006  A list is the subject of this test.
        pass

    with_defaults(stage_of_a_user, {})["sizes"].append(5)
    assert with_defaults(stage_of_a_user, {}) == {"sizes": [3]}
