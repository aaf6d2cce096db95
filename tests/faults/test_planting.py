"""Planting of faults in small files, and the refusal of faults that do not apply."""

import ast
import re
from pathlib import Path

import pytest
import yaml
from fault import Fault, FaultError, read_faults
from planting import check_fault, plant, planted

CODE = '''\
"""Costs of a small matcher."""
LIMIT = 20
SHOWN = ("cost", 'level')


def select(costs, limit=2, *, steps=(1, 2)):
    # The lowest cost wins.
    best = min(costs[0] + limit, (costs[1]) * 2)  # e.g. "σ"
    label = f"{costs[0]} at {limit}"
    if best < limit:
        return None

    def halve(cost):
        return cost / 2

    print("σ", halve(best) - limit)
    return halve(best), label


class Volume:
    levels = 2

    def size(self):
        levels = 2
        return self.rows * levels
'''

REFORMATTED_CODE = '''\
"""Costs of a small matcher."""

LIMIT = 20
SHOWN = (
    "cost",
    "level",
)


def select(
    costs,
    limit=2,
    *,
    steps=(1, 2),
):
    best = min(
        (costs[0] + limit),  # The lowest cost wins.
        costs[1] * 2,
    )
    label = f"{costs[0]} at {limit}"
    if (
        best  # a comment in the condition
        < limit
    ):
        return None

    def halve(cost):
        return cost / 2

    print(
        "σ",
        halve(best) - limit,
    )
    return (
        halve(best),
        label,
    )


class Volume:
    levels = 2

    def size(self):
        levels = 2
        return self.rows * levels
'''

TABLE = """\
# Printed numbers.
columns:
- LCU
- LDSM
# Rows follow.
rows:
  SSD + MF: [5.23, 3.80]  # two scenes
  DP: [1, true]
tolerances:
- {column: nonocc, above: 0.1}
- {column: disc, above: 0.1}
"""


@pytest.fixture
def write_fault(tmp_path: Path):
    """Return a function that writes a small project and returns a fault in it."""
    (tmp_path / "code.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "table.yaml").write_text(TABLE, encoding="utf-8")
    (tmp_path / "test_code.py").touch()

    def write(**keys) -> Fault:
        entry = {"file": "code.py", "tests": ["test_code.py"], **keys}
        return Fault(name="fault", store="stored.yaml", description="The code is wrong.", **entry)

    return write


def assert_refused(fault: Fault, root: Path, *words: str) -> None:
    """Assert that a fault is refused in one line that contains all words."""
    with pytest.raises(FaultError) as refusal:
        check_fault(fault, root)
    message = str(refusal.value)
    assert message.startswith("stored.yaml: fault: ")
    assert "\n" not in message
    for word in words:
        assert word in message


# Each case: the function, the old code, the new code, and the only changed text.
CASES = {
    "an operator": ("select", "best<limit", "best <= limit", ("best < limit", "best <= limit")),
    "a name": ("select", "costs[1]*2", "costs[1]", ("(costs[1]) * 2", "costs[1]")),
    "a constant of the module": ("", "LIMIT = 20", "LIMIT = 21", ("LIMIT = 20", "LIMIT = 21")),
    "other quotes": ("", "('cost', 'level')", "('cost',)", ("(\"cost\", 'level')", "('cost',)")),
    "a default": ("select", "(1, 2)", "(1, 3)", ("(1, 2)", "(1, 3)")),
    "an argument after a Greek letter": (
        "select",
        "halve(best) - limit",
        "limit",
        ("halve(best) - limit", "limit"),
    ),
    "a nested function": ("select.halve", "cost / 2", "cost / 3", ("cost / 2", "cost / 3")),
    "a function with its nested functions": ("select", "cost / 2", "cost", ("cost / 2", "cost")),
    "a field of a class": (
        "Volume",
        "levels = 2",
        "levels = 3",
        ("Volume:\n    levels = 2", "Volume:\n    levels = 3"),
    ),
    "a method": ("Volume.size", "self.rows", "self.columns", ("self.rows", "self.columns")),
    "parentheses that are needed": (
        "Volume.size",
        "self.rows",
        "self.rows + 1",
        ("self.rows * levels", "(self.rows + 1) * levels"),
    ),
    "an f-string": (
        "select",
        "f'{costs[0]} at {limit}'",
        "f'{limit}'",
        ('f"{costs[0]} at {limit}"', "f'{limit}'"),
    ),
    "a deleted statement": (
        "select",
        "if best < limit:\n    return None",
        "",
        ("if best < limit:\n        return None", ""),
    ),
    "an inserted statement": (
        "select.halve",
        "return cost / 2",
        "cost = cost + 1\nreturn cost / 2",
        ("return cost / 2", "cost = cost + 1\n        return cost / 2"),
    ),
    "two statements": (
        "Volume.size",
        "levels = 2\nreturn self.rows * levels",
        "return self.rows",
        ("levels = 2\n        return self.rows * levels", "return self.rows"),
    ),
    "a call that becomes another statement": (
        "select",
        "print('σ', halve(best) - limit)",
        "pass",
        ('print("σ", halve(best) - limit)', "pass"),
    ),
}


@pytest.mark.parametrize(("function", "old", "new", "change"), CASES.values(), ids=CASES.keys())
def test_only_the_source_of_the_old_code_changes(write_fault, tmp_path, function, old, new, change):
    fault = write_fault(function=function, old=old, new=new)
    assert CODE.count(change[0]) == 1
    assert planted(fault, tmp_path) == CODE.replace(*change)


@pytest.mark.parametrize(("function", "old", "new"), [case[:3] for case in CASES.values()])
def test_formatter_does_not_change_the_planted_fault(write_fault, tmp_path, function, old, new):
    fault = write_fault(function=function, old=old, new=new)
    before_formatting = planted(fault, tmp_path)
    (tmp_path / "code.py").write_text(REFORMATTED_CODE, encoding="utf-8")
    after_formatting = planted(fault, tmp_path)
    assert ast.dump(ast.parse(after_formatting)) == ast.dump(ast.parse(before_formatting))
    assert ast.dump(ast.parse(after_formatting)) != ast.dump(ast.parse(REFORMATTED_CODE))


def test_plant_writes_the_file(write_fault, tmp_path):
    plant(write_fault(old="20", new="30"), tmp_path)
    assert (tmp_path / "code.py").read_text(encoding="utf-8") == CODE.replace("20", "30")


def test_code_in_several_places_is_ambiguous(write_fault, tmp_path):
    fault = write_fault(function="select", old="limit", new="0")
    assert_refused(fault, tmp_path, "contains `limit` 3 times (lines: 8, 10, 16)")
    fault = write_fault(function="select", old="best", new="0")
    assert_refused(fault, tmp_path, "4 times", "expects 1", "'occurrence: 1 of 4'")


def test_occurrence_selects_one_of_several_places(write_fault, tmp_path):
    fault = write_fault(function="select", old="limit", new="0", occurrence="2 of 3")
    expected = CODE.replace("best < limit", "best < 0")
    assert planted(fault, tmp_path) == expected


@pytest.mark.parametrize("occurrence", ["1 of 2", "2 of 4"])
def test_other_number_of_occurrences_is_refused(write_fault, tmp_path, occurrence):
    fault = write_fault(function="select", old="limit", new="0", occurrence=occurrence)
    assert_refused(fault, tmp_path, "3 times", f"expects {occurrence[-1]}")


def test_occurrence_of_code_that_occurs_once_is_refused(write_fault, tmp_path):
    fault = write_fault(old="20", new="30", occurrence="2 of 2")
    assert_refused(fault, tmp_path, "contains `20` once (lines: 2)", "'occurrence: 1 of 1'")


def test_module_level_does_not_include_functions_and_classes(write_fault, tmp_path):
    fault = write_fault(old="self.rows", new="0")
    assert_refused(fault, tmp_path, "the module code.py does not contain `self.rows`")


def test_class_does_not_include_its_methods(write_fault, tmp_path):
    fault = write_fault(function="Volume", old="self.rows", new="0")
    assert_refused(fault, tmp_path, "Volume of code.py does not contain `self.rows`")


def test_parts_of_an_f_string_are_not_searched(write_fault, tmp_path):
    fault = write_fault(function="select", old="costs[0]", new="costs[1]")
    assert "min(costs[1] + limit" in planted(fault, tmp_path)


def test_missing_function_is_refused_with_a_similar_name(write_fault, tmp_path):
    fault = write_fault(function="Volume.sizes", old="2", new="3")
    assert_refused(fault, tmp_path, "no function or class 'Volume.sizes'", "'Volume.size'")


def test_missing_file_is_refused(write_fault, tmp_path):
    assert_refused(write_fault(file="gone.py", old="2", new="3"), tmp_path, "gone.py does not")


def test_missing_code_is_refused(write_fault, tmp_path):
    fault = write_fault(function="select", old="max(costs)", new="min(costs)")
    assert_refused(fault, tmp_path, "no longer applies", "`max(costs)`", "write the fault again")


def test_fault_that_the_present_code_contains_is_refused(write_fault, tmp_path):
    fault = write_fault(function="select", old="best < limit", new="best <= limit")
    plant(fault, tmp_path)
    assert_refused(fault, tmp_path, "no longer applies", "does not contain `best < limit`")


@pytest.mark.parametrize("new", ["best < limit", "(best<limit)"])
def test_fault_that_changes_nothing_is_refused(write_fault, tmp_path, new):
    fault = write_fault(function="select", old="best < limit", new=new)
    assert_refused(fault, tmp_path, "'old' and 'new' are the same code")


@pytest.mark.parametrize("test", ["test_gone.py", "test_gone.py::test_levels"])
def test_missing_test_file_is_refused(write_fault, tmp_path, test):
    fault = write_fault(old="20", new="30", tests=["test_code.py", test])
    assert_refused(fault, tmp_path, "the test file test_gone.py does not exist")


def test_code_that_is_not_python_is_refused(write_fault, tmp_path):
    fault = write_fault(function="select", old="if best < limit:", new="if best:")
    assert_refused(fault, tmp_path, "'old' is no valid Python code")


def test_new_code_that_cannot_stand_in_the_place_is_refused(write_fault, tmp_path):
    (tmp_path / "code.py").write_text("if a: b = 1\n")
    fault = write_fault(old="b = 1", new="if c:\n    b = 2")
    assert_refused(fault, tmp_path, "cannot replace `b = 1`")


def test_file_that_is_not_python_is_refused(write_fault, tmp_path):
    (tmp_path / "code.py").write_text("if:\n")
    assert_refused(write_fault(old="1", new="2"), tmp_path, "code.py cannot be parsed")


# --- YAML and text --------------------------------------------------------------------

YAML_CASES = {
    "a number": (["rows", "SSD + MF", 1], 3.8, 3.9, ("3.80", "3.9")),
    "a truth value": (["rows", "DP", 1], True, False, ("true", "false")),
    "a selected item": (
        ["tolerances", {"column": "disc"}, "above"],
        0.1,
        0.3,
        ("disc, above: 0.1", "disc, above: 0.3"),
    ),
    "a flow list": (["rows", "DP"], [1, True], [1], ("[1, true]", "[1]")),
    "a block list": (
        ["columns"],
        ["LCU", "LDSM"],
        ["LDSM"],
        ("- LCU\n- LDSM\n# Rows follow.\n", ' ["LDSM"]\n'),
    ),
}


@pytest.mark.parametrize(("key", "old", "new", "change"), YAML_CASES.values(), ids=YAML_CASES)
def test_only_the_value_at_the_key_changes(write_fault, tmp_path, key, old, new, change):
    fault = write_fault(file="table.yaml", key=key, old=old, new=new)
    assert planted(fault, tmp_path) == TABLE.replace(*change)


@pytest.mark.parametrize(
    ("key", "old", "words"),
    [
        (["rows", "DP", 0], 2, "has `1` and not `2`"),
        (["rows", "DP", 0], True, "has `1` and not `True`"),
        (["rows", "SO", 0], 1, "has 0 values for the step 'SO'"),
        (["rows", "DP", 2], 1, "has 0 values for the step 2"),
        (["tolerances", {"above": 0.1}, "above"], 0.1, "has 2 values for the step"),
        (["tolerances", {"column": "all"}, "above"], 0.1, "has 0 values for the step"),
        (["columns", 0, "name"], "LCU", "has 0 values for the step 'name'"),
        (["rows", "DP", 0], 7, "has `1` and not `7`"),
    ],
)
def test_other_value_or_missing_key_is_refused(write_fault, tmp_path, key, old, words):
    fault = write_fault(file="table.yaml", key=key, old=old, new=7)
    if old == 7:
        words = "the same code"
    assert_refused(fault, tmp_path, words)


def test_shared_value_of_a_yaml_file_is_refused(write_fault, tmp_path):
    (tmp_path / "table.yaml").write_text("first: &shared [1]\nsecond: *shared\n")
    fault = write_fault(file="table.yaml", key=["second"], old=[1], new=[2])
    assert_refused(fault, tmp_path, "cannot be changed by itself")


def test_white_space_of_text_does_not_matter(write_fault, tmp_path):
    fault = write_fault(file="table.yaml", old="disc,  above:", new="disc, below:")
    document = yaml.safe_load(planted(fault, tmp_path))
    assert document["tolerances"][1] == {"column": "disc", "below": 0.1}


def test_text_in_several_places_is_ambiguous(write_fault, tmp_path):
    fault = write_fault(file="table.yaml", old="above: 0.1", new="above: 0.2")
    assert_refused(fault, tmp_path, "contains `above: 0.1` 2 times (lines: 10, 11)")
    fault = write_fault(file="table.yaml", old="0.1", new="0.2", occurrence="2 of 2")
    assert planted(fault, tmp_path) == TABLE.replace("disc, above: 0.1", "disc, above: 0.2")


# --- Entries --------------------------------------------------------------------------

ENTRY = "{description: A fault., file: code.py, old: a, new: b, tests: [test_code.py]}"


def test_entries_of_all_files_are_read(tmp_path):
    (tmp_path / "one.yaml").write_text(f"second: {ENTRY}\n")
    (tmp_path / "two.yaml").write_text(f"first: {ENTRY}\n")
    faults = read_faults(tmp_path, tmp_path)
    assert list(faults) == ["first", "second"]
    assert faults["second"].store == "one.yaml"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"name: {ENTRY}\nname: {ENTRY}", "the key 'name' occurs twice"),
        ("name: {old: a", "the file is not valid YAML"),
        ("- name", "the file must map names to faults"),
        ("name: 1", "name: the entry must be a mapping"),
        ("name: " + ENTRY.replace("old: a, ", ""), "name: the key 'old' is missing"),
        ("name: " + ENTRY.replace("old:", "odl:"), "'odl' is not allowed"),
        ("name: " + ENTRY.replace("[test_code.py]", "[]"), "the value of 'tests' is wrong"),
        ("name: " + ENTRY.replace("old: a", "old: 1"), "the value of 'old' as 1 and not as text"),
        ("name: " + ENTRY.replace("old: a", "old: ''"), "'old' is empty"),
        ("name: " + ENTRY.replace("old:", "key: [a], old:"), "'key' is allowed for YAML"),
        ("name: " + ENTRY.replace("old:", "occurrence: 3 of 2, old:"), "no occurrence 3 of 2"),
        ("name: " + ENTRY.replace("old:", "occurrence: second, old:"), "'occurrence' is wrong"),
        (
            "name: " + ENTRY.replace("code.py", "a.yaml").replace("old:", "function: f, old:"),
            "'function' is allowed for Python files only",
        ),
    ],
)
def test_wrong_entry_is_refused_with_its_place(tmp_path, text, words):
    (tmp_path / "stored.yaml").write_text(text)
    with pytest.raises(FaultError, match=re.escape(words)) as refusal:
        read_faults(tmp_path, tmp_path)
    assert str(refusal.value).startswith("stored.yaml: ")


def test_all_wrong_entries_are_reported(tmp_path):
    (tmp_path / "one.yaml").write_text(f"name: {ENTRY}\nother: 1\n")
    (tmp_path / "two.yaml").write_text(f"name: {ENTRY}\n")
    with pytest.raises(FaultError) as refusal:
        read_faults(tmp_path, tmp_path)
    first, second = str(refusal.value).splitlines()
    assert first.startswith("one.yaml: other: the entry must be a mapping")
    assert second.startswith("two.yaml: name: one.yaml has a fault of the same name")
