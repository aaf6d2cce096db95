"""The meter of legibility on small sources, each with or without a case."""

import json
import shutil
import subprocess
import sys
import tokenize
from pathlib import Path

import legibility
import pytest
from meter.ceilings import (
    allowed_cases,
    exceeded,
    is_out_of_date,
    lowered,
    read_table,
    row_of,
    with_moved_code,
    write_table,
)
from meter.changes import Changes, changed_lines
from meter.columns import COLUMNS, COLUMNS_WITH_GOAL
from meter.figures import Share, figure_of, misses_goal
from meter.files import UsageError, files_of_groups, measure_groups, measure_python
from meter.measurement import Measurement
from meter.prose import comments_of
from meter.review import complaints_about_ceilings, complaints_about_old_ceilings

SCRIPTS = Path(__file__).parents[1] / "scripts"

TERMS_16 = " + ".join(f"term_{number}" for number in range(16))
TERMS_11 = " + ".join(f"term_{number}" for number in range(11))
TERMS_10 = " + ".join(f"term_{number}" for number in range(10))
ITEMS_40 = ", ".join(f'"item_{number}"' for number in range(40))
BRANCHES_10 = "".join(f"    if x == {number}:\n        x += 1\n" for number in range(10))
BRANCHES_9 = "".join(f"    if x == {number}:\n        x += 1\n" for number in range(9))
LINES_41 = "".join(f"    x = {number}\n" for number in range(41))
LINES_40 = "".join(f"    x = {number}\n" for number in range(40))

PYTHON_CASES = {
    "p90": (f"total = {TERMS_11}", f"total = {TERMS_10}"),
    "long": (f"total = {TERMS_16}", f"names = [{ITEMS_40}]"),
    ">100": (f'text = "{"x" * 92}"', f'text = "{"x" * 91}"'),
    "bad comp": ("[x for row in rows for x in row]", "[x for x in row if x]"),
    "ifexp": ("y = 1 if x else 2", "if x:\n    y = 1"),
    "chained": ("f(1 if x else 2)", "y = 1 if f(x) else 2"),
    "vague": ("found_items2 = f()", "found_edges = f()"),
    "branchy": (f"def f(x):\n{BRANCHES_10}", f"def f(x):\n{BRANCHES_9}"),
    "branchy kernels": (
        f"@njit\ndef f(x):\n{BRANCHES_10}{BRANCHES_10}",
        f"@njit\ndef f(x):\n{BRANCHES_10}{BRANCHES_9}",
    ),
    "long def": (f"def f():\n{LINES_41}", f"def f():\n{LINES_40}"),
    "verbs": ('def f():\n    """Those of x."""', 'def f():\n    """Return x."""'),
    "doc>88": (f"# {'word ' * 17}words", f"# {'word ' * 16}words"),
    "markers docs": ("# The file tells the size.", "# The file contains the size."),
    "markers messages": (
        'raise ValueError("nobody has the file")',
        'raise ValueError("the file is missing")',
    ),
}
"""By column, a source with exactly one case, and a similar source without a case."""


@pytest.fixture
def measure(tmp_path):
    """Return a function that measures the source of a Python file."""

    def measure_source(source, name="source.py"):
        path = tmp_path / name
        path.write_text(source + "\n", encoding="utf-8")
        return measure_python(path)

    return measure_source


@pytest.mark.parametrize("column", PYTHON_CASES)
def test_each_column_counts_its_case_and_no_plain_source(measure, column):
    with_case, plain = PYTHON_CASES[column]
    assert len(measure(with_case).cases[column]) == 1
    assert len(measure(plain).cases[column]) == 0


def test_every_column_with_a_goal_has_a_small_source():
    outside_python = {"markers pages", "markers yaml"}
    names = {column.name for column in COLUMNS_WITH_GOAL}
    assert names == PYTHON_CASES.keys() | outside_python


@pytest.mark.parametrize(
    ("source", "size"),
    [
        ("x = 1", 3),
        ("x = (1)", 3),
        ("f(a, b=1,)", 7),
        ("x = -a[1:, ::2].b", 13),
        ('x = f"{a + b:.{n}f} and {c}"', 8),
        ("if not a in b: pass", 6),
        ("x = a if b else (c, d)", 8),
        ("del a.b", 4),
        ("from a import b as c", 6),
        ("x += 1", 3),
        ("x: int = 1", 5),
        ("{a: b, **c}", 7),
        ("[f(x) for x in y if z]", 12),
        ("a < b <= c and d or e", 9),
        ("raise A from b", 4),
        ("x = lambda: 1", 5),
    ],
)
def test_size_of_a_statement_is_its_number_of_tokens(measure, source, size):
    assert measure(source).sizes[0] == size


@pytest.mark.parametrize(
    "source",
    [
        f"from module import {ITEMS_40.replace(chr(34), '')}",
        f"def f({', '.join(f'a{number}: int = 1' for number in range(12))}): pass",
        f"f(x, y, {', '.join(f'key_{number}={number}' for number in range(12))})",
        f"raise E(f(x, y, {', '.join(f'key_{number}={number}' for number in range(12))}))",
        f"x = {{{', '.join(f'{number}: -{number}' for number in range(12))}}}",
        f"names = [{20 * 'f_string, '}]".replace("f_string", 'f"{a.b}"'),
    ],
)
def test_imports_signatures_tables_and_keywords_are_never_long(measure, source):
    assert measure(source).cases["long"] == []


def test_call_with_many_positional_arguments_is_long(measure):
    arguments = ", ".join(f"a_{number}" for number in range(40))
    assert len(measure(f"f({arguments})").cases["long"]) == 1


@pytest.mark.parametrize(
    "source",
    [
        "[x for x in y if x if x > 1]",
        "[[x for x in row] for row in rows]",
        f"[{'long_name_of_a_value + ' * 4}x for x in numbers_of_the_rows]",
    ],
)
def test_comprehension_has_one_loop_one_condition_and_one_line(measure, source):
    assert len(measure(source).cases["bad comp"]) >= 1


def test_branches_of_a_decorator_or_a_default_are_outside_the_function(measure):
    source = f"@mark(a or b)\ndef f(x=a or b):\n{BRANCHES_9}"
    assert measure(source).cases["branchy"] == []


@pytest.mark.parametrize("source", ['y = f"{1 if a else 2}"', "y = 1 if a else 2 if b else 3"])
def test_conditional_expression_in_an_f_string_or_another_one_is_chained(measure, source):
    assert len(measure(source).cases["chained"]) == 1


@pytest.mark.parametrize(
    ("name", "is_counted"),
    [
        ("found", True),
        ("_told_value", True),
        ("own_data2", True),
        ("TheOne", True),
        ("at", True),
        ("at_value", True),
        ("value_at", False),
        ("value", False),
        ("other", False),
        ("__own__", False),
        ("one_based", False),
    ],
)
def test_vague_name_has_only_vague_words_and_fillers(measure, name, is_counted):
    assert bool(measure(f"{name} = 1").cases["vague"]) == is_counted


def test_names_of_parameters_of_modules_are_not_ours(measure):
    assert measure("import numpy as np\nnp.add(a, b, what=c)").cases["vague"] == []
    assert len(measure("add(a, b, what=c)").cases["vague"]) == 1
    assert measure("add(a, b, where=c)").cases["vague"] == []


@pytest.mark.parametrize(
    ("docstring", "is_counted"),
    [
        ("Compute the costs.", False),
        ("Computes the costs.", False),
        ("The costs of a pixel.", False),
        ("The costs, with what they say.", True),
        ("What the costs are.", True),
    ],
)
def test_docstring_begins_with_a_verb_or_is_a_short_noun_phrase(measure, docstring, is_counted):
    source = f'def f():\n    """{docstring}"""'
    assert bool(measure(source).cases["verbs"]) == is_counted
    assert measure(source.replace("f()", "_f()")).totals["summaries"] == 0


@pytest.mark.parametrize(
    "source",
    [
        'warn("nobody waits")',
        'faults.add("nobody waits")',
        'message = "nobody waits"',
        'faults[name] = f"nobody waits for {x}"',
        'def region_fault(x):\n    return "nobody waits"',
        'TEXT = "nobody waits"\nraise ValueError(TEXT)',
    ],
)
def test_message_is_recognized_by_raise_and_by_names_about_faults(measure, source):
    assert len(measure(source).cases["markers messages"]) == 1


def test_plain_text_is_no_message(measure):
    assert measure('label = "nobody waits"\nf("nobody waits")').totals["words of messages"] == 0


def test_code_in_prose_is_no_prose(measure):
    source = '"""Return `what`.\n\n>>> told\n\nown : what\n"""'
    assert measure(source).cases["markers docs"] == []


def test_pages_and_yaml_files_count_marker_words_with_their_lines(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\nThe file says\n```\nnobody\n```\n", encoding="utf-8")
    text = 'a: "The file tells the size to us"\nb: nobody  # So many files are here now\n'
    Path(tmp_path, "texts.yaml").write_text(text, encoding="utf-8")
    notebook = {"cells": [{"cell_type": "markdown", "source": ["It stands.\n"]}]}
    Path(tmp_path, "notebook.ipynb").write_text(json.dumps(notebook), encoding="utf-8")

    groups = measure_groups([tmp_path])
    by_name = {measurement.path.name: measurement for measurement in groups[tmp_path.name]}
    assert [case.line for case in by_name["page.md"].cases["markers pages"]] == [3]
    assert [case.line for case in by_name["texts.yaml"].cases["markers yaml"]] == [1, 2]
    assert len(by_name["notebook.ipynb"].cases["markers pages"]) == 1


def test_code_in_a_literal_yaml_text_is_no_prose(tmp_path):
    path = tmp_path / "script.yaml"
    path.write_text("a: |\n  scene: what\n  nobody knows the size here\n  b: alone\n")
    (measurement,) = measure_groups([path])["script.yaml"]
    assert [case.line for case in measurement.cases["markers yaml"]] == [3, 3]
    assert measurement.totals["words of yaml"] == 5


def test_broken_yaml_file_is_measured_up_to_the_fault(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text("a: nobody knows the size here\nb: [\n", encoding="utf-8")
    assert len(measure_groups([path])["broken.yaml"][0].cases["markers yaml"]) == 2


def test_formatter_changes_only_the_figures_about_width(tmp_path):
    shutil.copytree(SCRIPTS / "meter", tmp_path / "meter")
    before = measure_groups([tmp_path / "meter"])["meter"]
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "60"]
    subprocess.run([*command, str(tmp_path)], check=True, capture_output=True)
    after = measure_groups([tmp_path / "meter"])["meter"]

    changed = []
    for column in COLUMNS:
        if figure_of(column, before) != figure_of(column, after):
            changed.append(column.name)
    assert set(changed) <= {">100", "doc>88"}
    assert before[0].path == after[0].path


def test_comments_are_those_that_tokenize_finds():
    for path in [Path(__file__), *sorted(SCRIPTS.rglob("*.py"))]:
        with path.open("rb") as file:
            tokens = [*tokenize.tokenize(file.readline)]
        lines = [token.start[0] for token in tokens if token.type == tokenize.COMMENT]
        assert [comment.line for comment in comments_of(path.read_text("utf-8"))] == lines


# -------------------------------------------------------------------------- ceilings


def row(**shares):
    """Return the row of a group that has nothing to count in most columns."""
    values = {column.name: Share() for column in COLUMNS_WITH_GOAL}
    return values | shares


def test_new_case_exceeds_a_ceiling_and_deleted_clean_code_does_not():
    table = {"a": row(long=Share(5, 100))}
    assert [broken.group for broken in exceeded(table, {"a": row(long=Share(6, 101))})] == ["a"]
    assert exceeded(table, {"a": row(long=Share(5, 20))}) == []


def test_growth_may_have_the_cases_that_the_goal_allows():
    column = next(column for column in COLUMNS if column.name == "long")
    allowed = [allowed_cases(column, Share(5, 100), total) for total in (50, 149, 150, 200)]
    assert allowed == [5, 5, 6, 7]


def test_lowered_table_never_rises():
    table = {"a": row(long=Share(5, 100), vague=Share(3, 90)), "gone": row()}
    today = {"a": row(long=Share(4, 120), vague=Share(7, 80))}
    assert lowered(table, today) == {"a": row(long=Share(4, 120), vague=Share(3, 90))}


def test_new_group_must_meet_the_goals_or_receive_code():
    bad_row = row(long=Share(5, 100))
    with pytest.raises(UsageError, match="^b: the new group has 5 cases in the column 'long'"):
        lowered({}, {"b": bad_row})
    assert lowered({}, {"b": row(long=Share(2, 100))}) == {"b": row(long=Share(2, 100))}
    table = {"a": row(long=Share(6, 150))}
    today = {"a": row(long=Share(1, 50)), "b": bad_row}
    assert with_moved_code(table, today, ["a", "b"]) == today


def test_sum_of_the_groups_of_a_move_must_not_rise():
    table = {"a": row(long=Share(6, 100)), "b": row(long=Share(1, 100))}
    moved = {"a": row(long=Share(2, 50)), "b": row(long=Share(5, 150))}
    assert with_moved_code(table, moved, ["a", "b"]) == moved
    risen = {"a": row(long=Share(2, 50)), "b": row(long=Share(6, 150))}
    with pytest.raises(UsageError, match="^--raise a b: these groups together have 8 cases"):
        with_moved_code(table, risen, ["a", "b"])
    with pytest.raises(UsageError, match="^--raise b: these groups together have 5 cases"):
        with_moved_code(table, moved, ["b"])
    with pytest.raises(UsageError, match="^--raise c: there is no such group"):
        with_moved_code(table, moved, ["c"])


@pytest.mark.parametrize(
    ("ceiling", "today", "is_old"),
    [(6, 1, True), (5, 1, False), (100, 91, False), (100, 90, True), (4, 0, False)],
)
def test_ceiling_is_out_of_date_after_a_clear_fall(ceiling, today, is_old):
    assert is_out_of_date(Share(ceiling, 500), Share(today, 500)) == is_old


def test_table_is_read_as_it_was_written(tmp_path):
    table = {"a/b": row(long=Share(5, 100)), "c.md": row(vague=Share(0, 7))}
    path = tmp_path / "ceilings.txt"
    write_table(path, table)
    assert read_table(path) == table
    path.write_text(path.read_text("utf-8").replace("5/100", "five"), encoding="utf-8")
    with pytest.raises(UsageError, match="the row of a/b cannot be read"):
        read_table(path)
    with pytest.raises(UsageError, match="there is no table of ceilings"):
        read_table(tmp_path / "nowhere.txt")
    path.write_text("group | words\n", encoding="utf-8")
    with pytest.raises(UsageError, match="the columns of the table differ"):
        read_table(path)


def test_message_about_a_ceiling_names_the_numbers_the_remedy_and_the_places(
    measure, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    measurement = measure("found = 1\n\ntold = 2")
    measurement.path = Path("source.py")
    table = {"a": row(vague=Share(1, 2))}
    message, advice = complaints_about_ceilings(table, {"a": [measurement]})
    event = "a: 2 cases in the column 'vague' (figure 1000.0)"
    limit = "the ceiling is 1/2, which allows 1 cases today"
    assert message.splitlines() == [
        f"{event}; {limit}; name the value by a noun of the field",
        "  worst place: source.py:1: the name 'found'",
        "  worst place: source.py:3: the name 'told'",
    ]
    assert advice.endswith("python scripts/legibility.py --write-ceilings --raise GROUP GROUP")


def test_changed_lines_are_shown_alone(measure, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measurement = measure("found = 1\n\ntold = 2")
    measurement.path = Path("source.py")
    changes = Changes({"source.py": {3}})
    monkeypatch.setattr("meter.review.changes_since", lambda root, path: changes)
    table = {"a": row(vague=Share(1, 2))}
    message, _ = complaints_about_ceilings(table, {"a": [measurement]})
    assert message.splitlines()[1:] == ["  changed line: source.py:3: the name 'told'"]


def test_message_about_an_old_ceiling_names_the_command(measure):
    table = {"a": row(vague=Share(9, 20))}
    (message,) = complaints_about_old_ceilings(table, {"a": [measure("found = 1")]})
    assert message.startswith("a: 1 cases in the column 'vague'; this is clearly below")
    assert message.endswith("python scripts/legibility.py --write-ceilings")


def test_changed_lines_are_read_from_a_difference():
    difference = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +3,2 @@\n+a\n+b\n@@ -9 +11,0 @@\n-c\n"
    assert changed_lines(difference) == {"x.py": {3, 4}}


def test_goal_of_a_small_group_allows_one_case(measure):
    vague = next(column for column in COLUMNS if column.name == "vague")
    assert not misses_goal(vague, [measure("found = 1")])
    assert misses_goal(vague, [measure("found = 1\ntold = 2")])


# -------------------------------------------------------------------------- commands


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Create a package with a sub-package, and make its folder the current one."""
    folder = tmp_path / "sample"
    Path(folder, "inner").mkdir(parents=True)
    Path(folder, "__init__.py").write_text('"""A package for a test only."""\n')
    source = 'found = 1\n\n\ndef compute():\n    """Compute the sum of all values."""\n'
    Path(folder, "inner", "module.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    return folder


def test_package_has_a_row_for_each_folder(package):
    groups = files_of_groups([Path("sample")])
    assert list(groups) == ["sample", "sample/*", "sample/inner"]


def test_table_shows_the_groups_and_limits_show_the_missed_goals(package, capsys):
    assert legibility.main(["sample"]) == 0
    assert "sample/inner" in capsys.readouterr().out
    Path(package, "inner", "module.py").write_text("found = 1\ntold = 2\n")
    assert legibility.main(["--limits", "sample"]) == 1
    assert "sample/inner: missed vague 1000.0 (goal 10)" in capsys.readouterr().out


def test_detail_lists_places(package, capsys):
    assert legibility.main(["--detail", "vague", "sample"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1 cases among 2 names; ")
    assert lines[1:] == ["sample/inner/module.py:1: the name 'found'"]


def test_samples_depend_on_the_seed_only(package, capsys):
    assert legibility.main(["--sample", "1", "sample"]) == 0
    assert capsys.readouterr().out == "sample/inner/module.py:4: compute\n"
    outputs = []
    for seed in ("1", "1", "2"):
        assert legibility.main(["--sample-sentences", "2", "--seed", seed, "sample"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert "sample/__init__.py:1: docs: A package for a test only." in outputs[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: there is no such file or folder"),
        (["--detail", "words", "sample"], "--detail words: this column has no cases"),
        (["--detail", "median", "sample"], "--detail median: this column has no cases"),
        (["--sample", "9", "sample"], "9: cannot draw this many; choose a number from 1 to 1"),
        (["sample", "sample"], "sample: two paths have this name"),
        (["empty"], "empty: there is no file to measure"),
        (["broken.py"], "broken.py:1: the file is not valid Python"),
    ],
)
def test_wrong_command_is_refused_in_one_line(package, capsys, arguments, message):
    Path("empty").mkdir()
    Path("broken.py").write_text("x = = 1\n")
    assert legibility.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"legibility.py: {message}")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [["--raise", "a", "b"], ["--ceilings", "sample"], ["--limits", "--ceilings"]]
)
def test_options_that_exclude_each_other_are_refused(package, capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        legibility.main(arguments)


def test_program_meets_its_goals():
    groups = measure_groups([SCRIPTS / "meter", SCRIPTS / "legibility.py"])
    names = []
    for column in COLUMNS_WITH_GOAL:
        if any(misses_goal(column, measurements) for measurements in groups.values()):
            names.append(column.name)
    assert names == []


def test_row_of_an_empty_group_counts_nothing():
    assert row_of([Measurement(Path("empty.py"))]) == row()
