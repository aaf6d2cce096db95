"""Blocks of pages, and the comparison of shown outputs with printed outputs.

CONTRIBUTING, section "Show outputs on a page", describes the notation.
"""

import contextlib
import difflib
import functools
import io
import re
import shlex
import unittest.mock
from dataclasses import dataclass, field

from cli_parts import invoke

from stereo_framework.cli._progress import COMPILING

COLUMNS = 100
"""Width, in characters, of the terminal whose outputs pages show."""

COMMANDS = ("sh", "bash")
LANGUAGES = (*COMMANDS, "python", "yaml", "json", "text", "bibtex", "powershell", "markdown")
"""Languages that a fenced block of a page may have."""

NOT_RUN = "not run"
NOT_COMPARED = "not compared"
OUTPUT_OF = "output of"
MARKERS = {NOT_RUN: (*COMMANDS, "python"), NOT_COMPARED: ("text",), OUTPUT_OF: ("text",)}
"""Languages of the blocks that each marker may stand above."""

LEFT_OUT = "..."
"""Line of a shown output that stands for any number of printed lines."""


class PageError(AssertionError):
    """Report a block of a page that breaks the rules, or an output that is wrong."""


@dataclass(frozen=True)
class Marker:
    """A comment that changes how the tests treat the block below it."""

    kind: str
    text: str


@dataclass
class Block:
    """A fenced block of a page.

    Attributes
    ----------
    line : int
        Number of the line on the page that begins the block.
    outputs : list of Block
        Blocks that show the output of this block's commands or Python statements.
    hidden : bool
        Whether the page does not show the commands, because a marker names them.
    """

    language: str
    text: str
    line: int
    marker: Marker | None = None
    outputs: list["Block"] = field(default_factory=list)
    hidden: bool = False

    def has_marker(self, kind: str) -> bool:
        """Return whether a marker of this kind stands above the block."""
        return self.marker is not None and self.marker.kind == kind

    @property
    def compared(self) -> bool:
        """Return whether a shown output of the block is compared."""
        return bool(self.compared_outputs) and not self.has_marker(NOT_RUN)

    @property
    def compared_outputs(self) -> list["Block"]:
        """Return the outputs without those that the page excludes."""
        return [output for output in self.outputs if not output.has_marker(NOT_COMPARED)]


# --- Blocks of a page -----------------------------------------------------------------


def read_blocks(page: str, text: str) -> list[Block]:
    """Return the blocks of a page, with each output below its commands.

    Parameters
    ----------
    page : str
        Name of the page in messages.
    text : str
        Markdown text of the page.
    """
    blocks: list[Block] = []
    source: Block | None = None
    for part in _parts(page, text.splitlines()):
        if part is None:
            source = None
            continue
        if part.language != "text":
            blocks.append(part)
            if part.language in (*COMMANDS, "python"):
                source = part
        elif part.has_marker(OUTPUT_OF):
            blocks.append(_hidden_commands(part))
        elif source is not None:
            source.outputs.append(part)
        elif not part.has_marker(NOT_COMPARED):
            message = (
                f"{page}:{part.line}: this text block has no block of commands or Python above "
                "it in its section; a text block shows an output; write the marker "
                f"'<!-- {NOT_COMPARED}: REASON -->' above it if it shows something else"
            )
            raise PageError(message)
        else:
            blocks.append(part)
    return blocks


def marked_blocks(page: str, text: str) -> list[Block]:
    """Return the blocks of a page that the tests do not run or do not compare."""
    blocks = read_blocks(page, text)
    outputs = [output for block in blocks for output in block.outputs]
    candidates = [*blocks, *outputs]
    excluded = [b for b in candidates if b.has_marker(NOT_RUN) or b.has_marker(NOT_COMPARED)]
    return sorted(excluded, key=lambda block: block.line)


def _parts(page, lines):
    """Yield the blocks of a page in their order, and None for each heading."""
    number = 0
    used_comments = set()
    while number < len(lines):
        line = lines[number]
        if re.match(r"#{1,6} ", line):
            yield None
        elif re.match(r"\s*(```|~~~)", line):
            language = _read_language(page, number + 1, line)
            end = _end_of_block(page, lines, number, line.partition(language)[0].strip())
            text = "".join(f"{inner_line}\n" for inner_line in lines[number + 1 : end])
            comment = lines[number - 1] if number > 0 else ""
            if comment.startswith("<!--"):
                used_comments.add(number - 1)
            marker = _read_marker(page, number + 1, comment, language)
            yield Block(language, text, number + 1, marker)
            number = end
        number += 1
    _refuse_distant_markers(page, lines, used_comments)


def _end_of_block(page, lines, start, backticks):
    """Return the index of the line that ends a fenced block."""
    for number in range(start + 1, len(lines)):
        if lines[number].rstrip() == backticks:
            return number
    message = f"{page}:{start + 1}: the block has no end; end it with the line '{backticks}'"
    raise PageError(message)


def _read_language(page, number, line):
    """Return the language that the first line of a block names."""
    fence = re.fullmatch(r"`{3,}(\w*)\s*", line)
    if fence is None:
        message = (
            f"{page}:{number}: the line '{line}' does not begin a block that the tests read; "
            "write three backticks at the begin of the line, and only the language after them"
        )
        raise PageError(message)
    if fence[1] not in LANGUAGES:
        message = (
            f"{page}:{number}: the language of the block is '{fence[1]}'; "
            f"expected one of {', '.join(LANGUAGES)}"
        )
        raise PageError(message)
    return fence[1]


def _read_marker(page, number, comment, language):
    """Return the marker of a comment above a block; None if no comment stands there."""
    if not comment.startswith("<!--"):
        return None

    match = re.fullmatch(rf"<!-- ({'|'.join(MARKERS)}): *(.*?) *-->\s*", comment)
    if match is None:
        message = (
            f"{page}:{number - 1}: unknown marker '{comment.strip()}'; expected one of "
            f"{', '.join(f'<!-- {kind}: TEXT -->' for kind in MARKERS)}"
        )
        raise PageError(message)
    marker = Marker(match[1], match[2])
    if not marker.text:
        message = f"{page}:{number - 1}: the marker '{marker.kind}' has no text; add a reason"
        raise PageError(message)
    if language not in MARKERS[marker.kind]:
        message = (
            f"{page}:{number - 1}: the block below the marker '{marker.kind}' is a block of "
            f"{language}; expected a block of {' or '.join(MARKERS[marker.kind])}"
        )
        raise PageError(message)
    return marker


def _refuse_distant_markers(page, lines, used_comments):
    """Refuse markers that do not stand directly above a block."""
    for number, line in enumerate(lines):
        is_marker = re.match(rf"\s*<!--\s*({'|'.join(MARKERS)})\b", line)
        if is_marker and number not in used_comments:
            message = (
                f"{page}:{number + 1}: the marker '{line.strip()}' has no effect here; "
                "move it to the line directly above a block"
            )
            raise PageError(message)


def _hidden_commands(output):
    """Return a block of the command that the marker of an output names."""
    command = f"{output.marker.text}\n"
    return Block("sh", command, output.line, outputs=[output], hidden=True)


# --- Outputs of commands and of Python ------------------------------------------------


def split_commands(text: str) -> list[list[str]]:
    """Return the words of each command, divided at line ends and at ``&&``."""
    commands: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        commands.append([])
        for word in shlex.split(line, comments=True):
            if word == "&&":
                commands.append([])
            else:
                commands[-1].append(word)
    return [words for words in commands if words]


def terminal_output(*arguments):
    """Return the output of a command as a terminal shows it, and its exit status."""
    terminal = unittest.mock.patch("stereo_framework.cli._shared.on_a_terminal", return_value=True)
    width = unittest.mock.patch.dict("os.environ", {"COLUMNS": str(COLUMNS)})
    with terminal, width:
        result = invoke(*arguments)
    return result.output, result.exit_code


def python_output(block: Block, names: dict) -> str:
    """Return the output of Python statements.

    If a shown output of the block has a line that reports an error, the statements must
    raise an error, and its message is the end of the output.
    """
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        try:
            exec(block.text, names)
        # A page may show any error.
        except Exception as error:
            if not expects_error(block):
                raise
            print(f"{type(error).__name__}: {error}")
    return stream.getvalue()


def expects_error(block: Block) -> bool:
    """Return whether a shown output of the block has a line that reports an error."""
    pattern = r"[A-Z]\w*Error: " if block.language == "python" else "error: "
    lines = [line for output in block.outputs for line in output.text.splitlines()]
    return any(re.match(pattern, line) for line in lines)


# --- Comparison -----------------------------------------------------------------------


def check_outputs(page: str, block: Block, printed: str) -> None:
    """Compare the shown outputs of a block with its printed output, line by line.

    Raises
    ------
    PageError
        If a shown line differs, or if a printed line is missing on the page.
    """
    shown_lines = []
    for output in block.outputs:
        if output.has_marker(NOT_COMPARED):
            # A part that is not compared may consist of any lines.
            shown_lines.append(LEFT_OUT)
        else:
            shown_lines += comparable_lines(output.text)
    shown_lines = _without_outer_blank_lines(shown_lines)
    if shown_lines and all(line.strip() in (LEFT_OUT, "") for line in shown_lines):
        message = (
            f"{page}:{block.outputs[0].line}: the block shows no line of the output; show at "
            f"least one line, or write the marker '<!-- {NOT_COMPARED}: REASON -->' above it"
        )
        raise PageError(message)
    printed_lines = _without_outer_blank_lines(comparable_lines(printed))
    problem = difference(shown_lines, printed_lines)
    if problem:
        message = (
            f"{page}:{block.outputs[0].line}: the shown output is not the output of "
            f"'{block.text.strip()}': {problem}; correct the page or the program\n"
            f"the whole output:\n{printed}"
        )
        raise PageError(message)


def difference(shown_lines: list[str], printed_lines: list[str]) -> str:
    """Describe the first difference between a shown and a printed output.

    Returns
    -------
    str
        Description of the difference, or an empty text if the outputs agree.
    """
    groups = _groups_between_omissions(shown_lines)
    position = _matching_lines(groups[0], printed_lines)
    if position < len(groups[0]):
        return _mismatch(groups[0][position], printed_lines[position:])

    for number, group in enumerate(groups[1:], 1):
        start = _first_occurrence(group, printed_lines, position)
        if number == len(groups) - 1:
            # The last lines of the page are the last lines of the output.
            start = len(printed_lines) - len(group)
        remaining = printed_lines[position:]
        if start is None or start < position:
            return _mismatch(_missing_line(group, remaining), remaining)
        matching = _matching_lines(group, printed_lines[start:])
        if matching < len(group):
            return _mismatch(group[matching], printed_lines[start + matching :])
        position = start + len(group)

    if position < len(printed_lines):
        return f"the page does not show the printed line '{printed_lines[position]}'"
    return ""


def _without_outer_blank_lines(lines):
    """Return lines without the empty lines at the begin and at the end."""
    first = 0
    last = len(lines)
    while first < last and not lines[first]:
        first += 1
    while last > first and not lines[last - 1]:
        last -= 1
    return lines[first:last]


def _groups_between_omissions(lines):
    """Return the groups of lines between the lines that stand for any lines."""
    groups = [[]]
    for line in lines:
        if line.strip() == LEFT_OUT:
            groups.append([])
        else:
            groups[-1].append(line)
    return groups


def _matching_lines(group, lines):
    """Return the number of lines at the begin of a group that equal the other lines."""
    for number, line in enumerate(group):
        if number >= len(lines) or line != lines[number]:
            return number
    return len(group)


def _first_occurrence(group, lines, start):
    """Return the first index, from a start, at which a group of lines stands."""
    for index in range(start, len(lines) - len(group) + 1):
        if lines[index : index + len(group)] == group:
            return index
    return None


def _missing_line(group, lines):
    """Return the first line of a group that no printed line equals."""
    return next((line for line in group if line not in lines), group[0])


def _mismatch(shown_line, printed_lines):
    """Describe a shown line that the output does not have."""
    if not printed_lines:
        return f"the page shows the line '{shown_line}', but the output ends before it"
    similar = difflib.get_close_matches(shown_line, printed_lines, n=1, cutoff=0.0)
    return f"the page shows the line '{shown_line}', but the output has '{similar[0]}'"


# --- Parts that vary ------------------------------------------------------------------

_COLOURS = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")
_UNITS = "ms|s|min|h|seconds?|minutes?|hours?|kB|MB|GB|TB|KiB|MiB|GiB"
_NUMBER = r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?"
_QUANTITY = re.compile(rf"(?<![\w.])~?{_NUMBER} ?(?=(?:{_UNITS})(?![\w]))")
_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
_TIME = re.compile(r"\b\d{1,2}:\d\d:\d\d(?:\.\d+)?\b")
_FOLDER = re.compile(r"(?<![\w./~<-])/(?:[^\s/'\":,;()]+/)+")
_VARYING_NAME = re.compile(r"(?<!\S)(?:\w+_)?(?:seconds|MiB|memory|peak_memory)(?!\S)")


def comparable_lines(text: str) -> list[str]:
    """Return the lines of an output with a placeholder for each part that varies.

    Lines that report the compilation of kernels are left out.
    """
    lines = [line.rstrip() for line in _COLOURS.sub("", text).splitlines()]
    lines = [line for line in lines if not line.startswith(COMPILING)]
    return [_comparable(line) for line in _without_varying_cells(lines)]


def _comparable(line):
    """Return a line with placeholders for quantities, dates and folders."""
    line = _DATE.sub("<date>", line)
    line = _TIME.sub("<time>", line)
    line = _QUANTITY.sub("<number> ", line)
    line = _FOLDER.sub("<folder>/", line)
    # Some machines lack the folder of fetched data sets.
    line = re.sub(r"(<folder>/[^\s,;]*) \(no such folder\)", r"\1", line)
    line = re.sub(r"([─━])\1+", r"\1\1", line)
    return re.sub(r"(?<=\S) {2,}", "  ", line)


def _without_varying_cells(lines):
    """Return lines in which a placeholder stands for each time and size in a table."""
    ends = []
    changed_lines = []
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if not line:
            ends = []
        if re.match(r"[─━]{3}", following):
            ends = [name.end() for name in _VARYING_NAME.finditer(line)]
            changed_lines.append(line)
        elif re.match(r"(?:\w+_)?(?:seconds|MiB|memory)  ", line):
            changed_lines.append(re.sub(rf"(?<= ){_NUMBER}(?!\S)", "<number>", line))
        else:
            replace = functools.partial(_replace_cell, ends=ends)
            changed_lines.append(re.sub(rf"(?<=\s){_NUMBER}(?!\S)", replace, line))
    return changed_lines


def _replace_cell(match, ends):
    """Return a placeholder for a number that ends below the end of a varying name."""
    return "<number>" if match.end() in ends else match[0]
