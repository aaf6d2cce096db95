"""The comparison of shown outputs with printed outputs finds wrong pages."""

import re

import pytest
from page_outputs import (
    PageError,
    check_outputs,
    comparable_lines,
    expects_error,
    marked_blocks,
    python_output,
    read_blocks,
    split_commands,
    terminal_output,
)

pytestmark = pytest.mark.docs

PRINTED = """\
left: 320x240 pixels, disparities 0..31 step 1 (given)
sgm: 100.0 % of the pixels have a disparity; 0.52 s of matching

method  bad_pixels_nonocc  seconds
───────────────────────────────────
sgm                  2.34    0.521
fine                 1.07   12.340

written on 2026-11-29 at 12:50:01: /tmp/desk/results/mine/report.html
"""
"""Output of a command in these tests."""


def _page(shown, marker=""):
    """Return the text of a page that shows an output of a command."""
    return f"# Title\n\n```sh\nstereo-framework match a b\n```\n\n{marker}```text\n{shown}```\n"


def _check(shown, printed=PRINTED):
    """Compare an output on a page with a printed output."""
    [block] = read_blocks("page.md", _page(shown))
    check_outputs("page.md", block, printed)


def test_equal_outputs_agree():
    _check(PRINTED)


@pytest.mark.parametrize(
    ("line", "varied_line"),
    [
        ("0.52 s of matching", "17 s of matching"),
        ("2.34    0.521", "2.34    9.100"),
        ("1.07   12.340", "1.07    0.340"),
        ("2026-11-29", "2027-01-02"),
        ("12:50:01", "23:04:59"),
        ("/tmp/desk/results/mine/", "/home/you/"),
        ("────────\n", "──\n"),
    ],
)
def test_times_dates_and_folders_may_differ(line, varied_line):
    assert line in PRINTED
    _check(PRINTED.replace(line, varied_line))


@pytest.mark.parametrize(
    ("line", "wrong_line"),
    [
        ("step 1", "step 2"),
        ("0..31", "0..32"),
        ("100.0 %", "99.9 %"),
        ("2.34", "2.35"),
        ("1.07", "1.08"),
        ("0.52 s of", "0.52 ms of"),
        ("0.52 s of matching", "0.52 s of waiting"),
        ("report.html", "reports.html"),
        ("sgm: ", "fine: "),
        ("seconds", "second"),
        ("320x240", "320x241"),
    ],
)
def test_a_wrong_number_or_word_is_reported_with_both_lines(line, wrong_line):
    shown = PRINTED.replace(line, wrong_line, 1)
    first_wrong_line = next(one for one in shown.splitlines() if one not in PRINTED.splitlines())
    with pytest.raises(PageError, match=r"page\.md:7: the shown output is not") as error:
        _check(shown)
    # Quantities are replaced before the comparison, so only the words are looked for.
    words = re.findall(r"[A-Za-z]+", first_wrong_line.partition(" ")[0])
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize("number", range(len(PRINTED.splitlines())))
def test_a_missing_line_is_reported(number):
    lines = PRINTED.splitlines(keepends=True)
    del lines[number]
    with pytest.raises(PageError):
        _check("".join(lines))


@pytest.mark.parametrize("number", range(len(PRINTED.splitlines()) + 1))
def test_a_line_that_the_command_does_not_print_is_reported(number):
    lines = PRINTED.splitlines(keepends=True)
    lines.insert(number, "an additional line\n")
    with pytest.raises(PageError, match="'an additional line'"):
        _check("".join(lines))


@pytest.mark.parametrize(
    "shown",
    [
        f"...\n{PRINTED}...\n",
        "a\n...\ne\n",
        "...\nb\n...\n",
        "a\n...\nc\n...\nd\ne\n",
        "...\na\n...\nb\n...\nc\nd\ne\n...\n",
        "...\nd\ne\n",
    ],
)
def test_three_dots_stand_for_any_lines(shown):
    printed = "a\nb\nc\nd\ne\n"
    if PRINTED in shown:
        printed = PRINTED
    _check(shown, printed)


@pytest.mark.parametrize(
    "shown",
    [
        "a\n...\nd\n",
        "...\nx\n...\n",
        "b\n...\n",
        "...\nc\n...\nb\n...\n",
        "...\na\n...\na\n...\n",
        "a\nb\nc\nd\n",
        "a\n...\ne\nf\n",
        "...\nb\nd\n...\n",
    ],
)
def test_lines_around_three_dots_are_compared(shown):
    with pytest.raises(PageError):
        _check(shown, "a\nb\nc\nd\ne\n")


def test_an_output_without_lines_does_not_agree_with_an_empty_block():
    _check("\n", "\n")
    with pytest.raises(PageError, match="the page does not show the printed line 'a'"):
        _check("\n", "a\n")


@pytest.mark.parametrize("shown", ["...\n", "...\n\n...\n"])
def test_an_output_without_any_line_to_compare_is_refused(shown):
    with pytest.raises(PageError, match=r"page\.md:7: the block shows no line of the output"):
        _check(shown)


def test_several_blocks_show_one_output_one_after_the_other():
    page = "```sh\nstereo-framework a\n```\n```text\na\n```\nWords.\n\n```text\nb\n```\n"
    [block] = read_blocks("page.md", page)
    check_outputs("page.md", block, "a\nb\n")
    for printed in ("a\n", "b\na\n", "a\nb\nc\n", "a\nx\nb\n"):
        with pytest.raises(PageError):
            check_outputs("page.md", block, printed)


def test_a_block_that_is_not_compared_stands_for_any_lines():
    marker = "<!-- not compared: the library's version varies -->\n"
    page = _page("a\n", marker) + "\n```text\nb\n```\n"
    [block] = read_blocks("page.md", page)
    assert block.compared
    check_outputs("page.md", block, "x\nb\n")
    with pytest.raises(PageError):
        check_outputs("page.md", block, "x\nc\n")


def test_commands_with_the_marker_are_not_compared():
    page = _page("a\n").replace("```sh", "<!-- not run: the network is needed -->\n```sh")
    [block] = read_blocks("page.md", page)
    assert not block.compared
    assert [b.marker.text for b in marked_blocks("page.md", page)] == ["the network is needed"]


def test_a_marker_names_a_command_that_the_page_does_not_show():
    page = _page("error: x\n", "<!-- output of: stereo-framework match 'a b' c -->\n")
    first_block, second_block = read_blocks("page.md", page)
    assert not first_block.compared
    assert second_block.compared
    assert second_block.hidden
    assert split_commands(second_block.text) == [["stereo-framework", "match", "a b", "c"]]


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (
            _page("a\n", "<!-- skip: slow -->\n"),
            r"page\.md:7: unknown marker '<!-- skip: slow -->'",
        ),
        (_page("a\n", "<!-- not compared -->\n"), "unknown marker"),
        (_page("a\n", "<!-- not compared: -->\n"), "has no text; add a reason"),
        (_page("a\n", "<!-- not run: slow -->\n"), "expected a block of sh or bash or python"),
        (_page("a\n", "<!-- not compared: slow -->\n\n"), "move it to the line directly above"),
        ("<!-- not run: slow -->\nWords.\n", r"page\.md:1: the marker .* has no effect here"),
        ("```\na\n```\n", "the language of the block is ''"),
        ("```console\n$ a\n```\n", "the language of the block is 'console'"),
        ("- item\n\n  ```sh\n  a\n  ```\n", r"page\.md:3: .* does not begin a block"),
        ("~~~text\na\n~~~\n", "has no end|does not begin a block"),
        ("```sh\na\n", r"page\.md:1: the block has no end"),
        ("```text\na\n```\n", "has no block of commands or Python above it"),
        ("```sh\na\n```\n\n## Next\n\n```text\na\n```\n", r"page\.md:7: this text block has no"),
    ],
)
def test_a_page_with_a_wrong_block_or_marker_is_refused(page, problem):
    with pytest.raises(PageError, match=problem):
        read_blocks("page.md", page)


def test_a_heading_inside_a_block_does_not_end_the_section():
    page = "```sh\n# A comment\na\n```\n```text\n# b\n```\n"
    [block] = read_blocks("page.md", page)
    assert [output.text for output in block.outputs] == ["# b\n"]


def test_commands_are_divided_at_line_ends_and_ampersands():
    commands = split_commands("a b && c 'd && e'  # words\n\nf\n")
    assert commands == [["a", "b"], ["c", "d && e"], ["f"]]
    assert split_commands("a \\\n  b\nc\n") == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("language", "shown", "expected"),
    [
        ("sh", "error: a\n", True),
        ("sh", "warning: b\nerror: a\n", True),
        ("sh", "no error: a\n", False),
        ("python", "ValueError: a\n", True),
        ("python", "error: a\n", False),
    ],
)
def test_a_shown_error_makes_the_error_expected(language, shown, expected):
    page = _page(shown).replace("```sh", f"```{language}")
    [block] = read_blocks("page.md", page)
    assert expects_error(block) == expected


def test_python_prints_its_output_and_the_shown_error():
    text = "```python\nprint('a')\nint('x')\n```\n```text\na\nValueError: ...\n```\n"
    [block] = read_blocks("page.md", text)
    expected = "a\nValueError: invalid literal for int() with base 10: 'x'\n"
    assert python_output(block, {}) == expected

    [silent_block] = read_blocks("page.md", text.replace("ValueError: ...", "..."))
    with pytest.raises(ValueError, match="invalid literal"):
        python_output(silent_block, {})


def test_outputs_are_those_of_a_terminal():
    output, status = terminal_output("run", "no_such_method")
    assert status == 2
    assert output.startswith("error: ")

    output, status = terminal_output("scenes", "--describe", "synthetic/planes")
    assert status == 0
    assert "\t" not in output


def test_lines_of_compilation_are_left_out():
    from stereo_framework.cli._progress import COMPILING

    assert comparable_lines(f"{COMPILING}\na\n") == ["a"]


@pytest.mark.parametrize("text", ["yaml:5:16: a", "range 0:64", "https://a.org/b/c", "results/a/b"])
def test_positions_ranges_and_relative_paths_are_compared(text):
    assert comparable_lines(text) == [text]
