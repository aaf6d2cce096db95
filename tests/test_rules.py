"""The list of files that break a rule, and the reasons of exceptions from a rule."""

import re
from pathlib import Path

import pytest
import unfinished_files
from unfinished_files import ListError, broken_rules, difference, lines_of, read_configuration

ROOT = Path(__file__).parents[1]

PACKAGE = ROOT / "stereo_framework"

MAX_EXCEPTIONS = 20

EXCEPTION = re.compile(r"#\s*noqa\b(?P<rest>.*)", re.IGNORECASE)

RULES_AND_REASON = re.compile(r": *[A-Z]+[0-9]+(?:, ?[A-Z]+[0-9]+)*[\s#-]+\w+\W+\w+")
"""The rules of an exception, and two words or more after them."""

PYPROJECT = """\
[project]
name = "sample"

[tool.ruff]
line-length = 100

[tool.ruff.lint]
select = ["E", "F"]

[tool.ruff.lint.per-file-ignores]
"both.py" = ["F401"]
# not rewritten yet: a list
{entries}
[tool.ruff.lint.pydocstyle]
convention = "numpy"
"""

LONG_LINE = f'text = "{"x" * 100}"\n'


def test_list_of_unfinished_files_contains_no_finished_file():
    configuration = read_configuration(Path(ROOT, "pyproject.toml").read_text("utf-8"))
    missing_files = [path for path in configuration.entries if not Path(ROOT, path).is_file()]
    assert missing_files == [], "remove these files: python scripts/unfinished_files.py"

    finished = lines_of(difference(configuration.entries, broken_rules(ROOT, configuration)))
    remedy = "no longer broken; remove these rules: python scripts/unfinished_files.py"
    assert finished == [], remedy


def test_exceptions_from_rules_are_few_and_have_reasons():
    exceptions = []
    without_reason = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            match = EXCEPTION.search(line)
            if match is not None:
                place = f"{path.relative_to(ROOT)}:{number}"
                exceptions.append(place)
                if RULES_AND_REASON.match(match["rest"]) is None:
                    without_reason.append(place)
    assert without_reason == [], "add the reason behind the rules of # noqa"
    assert len(exceptions) <= MAX_EXCEPTIONS, exceptions


@pytest.mark.parametrize(
    ("comment", "has_reason"),
    [
        (": E741  L, a, b of CIELAB", True),
        (": F401, E501  # The import is the check.", True),
        (": E741", False),
        (": E741  reason", False),
        ("", False),
        (" because of the rule", False),
    ],
)
def test_reason_of_an_exception_follows_its_rules(comment, has_reason):
    assert (RULES_AND_REASON.match(comment) is not None) == has_reason


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Create files that break a rule, and return the path of pyproject.toml."""
    Path(tmp_path, "long.py").write_text(LONG_LINE)
    Path(tmp_path, "both.py").write_text(f"import sys\n{LONG_LINE}")
    Path(tmp_path, "short.py").write_text("text = 1\n")
    path = tmp_path / "pyproject.toml"
    path.write_text(PYPROJECT.format(entries=""))
    monkeypatch.setattr(unfinished_files, "ROOT", tmp_path)
    return path


def test_list_grows_only_with_the_option_to_add(project, capsys):
    assert unfinished_files.main([]) == 1
    assert "long.py: E501: broken, and not in the list" in capsys.readouterr().out
    assert project.read_text() == PYPROJECT.format(entries="")

    assert unfinished_files.main(["--add"]) == 0
    entries = '"./both.py" = ["E501"]\n"long.py" = ["E501"]\n'
    assert project.read_text() == PYPROJECT.format(entries=entries)
    assert unfinished_files.main(["--check"]) == 0


def test_list_loses_files_that_are_finished_or_missing(project, capsys):
    entries = ['"./both.py" = ["C901", "E501"]', '"gone.py" = ["E501"]', '"long.py" = ["E501"]']
    text = PYPROJECT.format(entries="\n".join([*entries, '"short.py" = ["E501"]', ""]))
    project.write_text(text)
    assert unfinished_files.main(["--check"]) == 1
    assert project.read_text() == text

    assert unfinished_files.main([]) == 0
    output = capsys.readouterr().out
    for finding in ("both.py: C901", "gone.py: E501", "short.py: E501"):
        assert f"{finding}: no longer broken; removed from the list" in output
    remaining = '"./both.py" = ["E501"]\n"long.py" = ["E501"]\n'
    assert project.read_text() == PYPROJECT.format(entries=remaining)


def test_list_without_its_comment_is_empty_and_cannot_be_written(project, capsys):
    project.write_text(project.read_text().replace("# not rewritten yet", "# files"))
    configuration = read_configuration(project.read_text())
    assert configuration.entries == {}
    with pytest.raises(ListError, match="the comment '# not rewritten yet' is missing"):
        configuration.with_entries({"long.py": frozenset(["E501"])})
    assert unfinished_files.main(["--add"]) == 2
    assert capsys.readouterr().err.startswith("unfinished_files.py: pyproject.toml: the comment")


def test_wrong_configuration_of_ruff_is_reported(project, capsys):
    project.write_text(project.read_text().replace('"F"]', '"F", "NOTHING"]'))
    assert unfinished_files.main([]) == 2
    assert capsys.readouterr().err.startswith("unfinished_files.py: ruff check: the command failed")
