"""YAML files: scalars of YAML 1.2, locations of keys and values, and faults."""

import datetime

import pytest

from stereo_framework.core.errors import ScriptError
from stereo_framework.io.locations import Faults
from stereo_framework.io.yaml_text import parse


def _read(text):
    faults = Faults()
    document = parse(text, "my.yaml", faults)
    faults.raise_if_any()
    return document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("1E+3", 1000.0),
        (".5", 0.5),
        ("-3", -3),
        # A zero in front does not make an octal number.
        ("010", 10),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("no", "no"),
        ("Yes", "Yes"),
        ("on", "on"),
        ("off", "off"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0x10", "0x10"),
        ("0o10", "0o10"),
        ("2002-05-01", "2002-05-01"),
        ("'20'", "20"),
        ("'true'", "true"),
        ("!!str 20", "20"),
    ],
)
def test_scalars_have_the_types_of_yaml_1_2(text, value):
    scalar = _read(f"key: {text}").data["key"]
    assert scalar == value
    assert type(scalar) is type(value)


def test_dates_are_texts():
    assert not isinstance(_read("2002-05-01").data, datetime.date)


def test_aliases_and_block_texts_are_read():
    text = "a: &box {use: box, size: 3}\nb: [*box, *box]\nc: |\n  two\n  lines\n"
    assert _read(text).data == {
        "a": {"use": "box", "size": 3},
        "b": [{"use": "box", "size": 3}] * 2,
        "c": "two\nlines\n",
    }


def test_keys_and_values_have_locations():
    document = _read(
        "matching_cost:\n  use: absolute_difference\n  truncation:   20\n"
        "aggregation:\n- {use: box, size: 9}\n- {use: box}\n"
    )
    location = document.locations["matching_cost", "truncation"]
    assert str(location) == "my.yaml:3:17: matching_cost.truncation"
    assert str(location.key) == "my.yaml:3:3: matching_cost"
    # The path has the index of an item if its stage occurs twice.
    location = document.locations["aggregation", 0, "size"]
    assert str(location) == "my.yaml:5:20: aggregation[0].size"


def test_the_path_of_a_list_item_has_the_name_of_its_stage():
    document = _read("aggregation: [{use: box, size: 9}, {use: min_filter}]")
    assert document.locations["aggregation", 0, "size"].path == "aggregation.box.size"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "seed: 1\nseed: 2\n",
            r"my\.yaml:2:1: the key 'seed' occurs twice; the first is in line 1",
        ),
        (
            "a:\n  b: 1\n  c: 2\n  b: 3\n",
            r"my\.yaml:4:3: a: the key 'b' occurs twice; the first is in line 2",
        ),
        ("a: [1, 2\n", r"my\.yaml:2:1: the text is not valid YAML: expected ',' or '\]'"),
        ("a:\n\tb: 1\n", r"my\.yaml:2:1: the text is not valid YAML: .*indent with spaces"),
        (
            "a: 1\n---\nb: 2\n",
            r"my\.yaml:2:1: the text is not valid YAML: expected a single document",
        ),
        (
            "a: !!python/object:os.system x\n",
            r"my\.yaml:1:4: a: the tag !!python/object:os\.system is not supported",
        ),
        ("a: !mine {b: 1}\n", r"my\.yaml:1:4: a: the tag !mine is not supported"),
        (
            "a: &x {b: 1}\nc: {<<: *x}\n",
            r"my\.yaml:2:5: c: YAML merge keys \(<<\) are not supported",
        ),
        (
            "a: &x [*x]\n",
            r"my\.yaml:1:1: the text cannot be read: it is nested too deeply: .*"
            r"an alias inside its own anchor",
        ),
        ("[1, 2]: 3\n", r"my\.yaml:1:1: a key must be a text"),
        (
            "a: x\x01\n",
            r"my\.yaml:1:5: the text is not valid YAML: the character '\\x01' is not allowed",
        ),
        (
            "a: " + "[" * 600 + "]" * 600,
            r"my\.yaml:1:1: the text cannot be read: it is nested too deeply",
        ),
        (
            "a: " + "1" * 5000,
            r"my\.yaml:1:4: a: '1+\.\.\. \(5000 characters\) \.\.\.1+' cannot be read "
            r"as a whole number",
        ),
        ("a: 1e999", r"my\.yaml:1:4: a: '1e999' cannot be read as a number"),
    ],
)
def test_faults_are_reported_at_their_locations(text, fault):
    with pytest.raises(ScriptError, match=f"^{fault}") as caught:
        _read(text)
    assert len(caught.value.faults) == 1
    assert "\n" not in caught.value.faults[0]
