"""The template of pages, which CONTRIBUTING describes, as a check of a page's text."""

import re
from pathlib import Path

from page_outputs import read_blocks

CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"
YES = "yes"


def required_parts() -> dict[str, set[str]]:
    """Return the parts that the table in CONTRIBUTING requires of each kind of page."""
    lines = CONTRIBUTING.read_text("utf-8").splitlines()
    header = next(line for line in lines if line.startswith("| part |"))
    kinds = _cells(header)[1:]
    parts: dict[str, set[str]] = {kind: set() for kind in kinds}
    for line in lines[lines.index(header) + 2 :]:
        if not line.startswith("|"):
            break
        part, *values = _cells(line)
        for kind, value in zip(kinds, values, strict=True):
            if value == YES and part in CHECKS:
                parts[kind].add(part)
    return parts


def skeleton() -> str:
    """Return the skeleton of a page that CONTRIBUTING gives."""
    blocks = read_blocks("CONTRIBUTING.md", CONTRIBUTING.read_text("utf-8"))
    [text] = [block.text for block in blocks if block.language == "markdown"]
    return text


def missing_parts(page: str, text: str, kind: str) -> list[str]:
    """Return a message for each part of the template that a page does not have.

    Parameters
    ----------
    page : str
        Name of the page in the messages.
    text : str
        Markdown text of the page.
    kind : str
        Kind of the page, a column of the table in CONTRIBUTING.
    """
    missing = [part for part in CHECKS if part in required_parts()[kind]]
    return [
        f"{page}: the part '{part}' of a {kind} is missing; {REMEDIES[part]}"
        for part in missing
        if not CHECKS[part](page, text)
    ]


def _cells(row):
    """Return the texts of the cells of a table's row."""
    return [cell.strip() for cell in row.strip("|").split("|")]


def _without_blocks(text):
    """Return the text of a page without its fenced blocks and comments."""
    text = re.sub(r"^(`{3,})\w*\n.*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)


def _paragraphs(text):
    """Return the paragraphs, lists, tables and headings of a page."""
    return [part.strip() for part in re.split(r"\n\s*\n", _without_blocks(text)) if part.strip()]


def _introduction(text):
    """Return the text between the title and the first heading of a section."""
    title, _, following = _without_blocks(text).strip().partition("\n")
    if not title.startswith("# "):
        return ""
    return re.split(r"^#{2,6} ", following, flags=re.MULTILINE)[0].strip()


def _states_purpose(page, text):
    """Return whether the first sentence of the first paragraph names the page."""
    first_paragraph = re.split(r"\n\s*\n", _introduction(text))[0]
    first_sentence = re.split(r"(?<=[.!?])\s", first_paragraph)[0]
    return re.search(r"\bthis page\b", first_sentence, re.IGNORECASE) is not None


def _states_prerequisites(page, text):
    """Return whether the introduction says what the reader needs."""
    return re.search(r"(?:^|(?<=[.!?]\s))You need\b", _introduction(text), re.MULTILINE) is not None


def _shows_output(page, text):
    """Return whether the page shows the output of a command or of Python."""
    return any(block.outputs for block in read_blocks(page, text))


def _headings(text):
    """Return the headings of a page, the title included."""
    return re.findall(r"^#{1,6} (.+)$", _without_blocks(text), re.MULTILINE)


def _describes_problems(page, text):
    """Return whether a section describes problems and contains text."""
    pattern = r"^#{1,6} [^\n]*(?:problem|goes wrong|troubleshooting)[^\n]*\n\s*(?!#)\S"
    return re.search(pattern, _without_blocks(text), re.IGNORECASE | re.MULTILINE) is not None


def _names_next_pages(page, text):
    """Return whether the page ends with links to the next pages."""
    last_paragraph = _paragraphs(text)[-1]
    if last_paragraph.startswith("Next:"):
        ending = last_paragraph
    elif _headings(text)[-1] == "Next pages":
        ending = _without_blocks(text).rpartition("Next pages")[2]
    else:
        return False
    return re.search(r"\[[^\]]+\]\([^)]+\)", ending) is not None


CHECKS = {
    "purpose and readers": _states_purpose,
    "prerequisites": _states_prerequisites,
    "smallest example with its output": _shows_output,
    "problems that can occur": _describes_problems,
    "next pages": _names_next_pages,
}
"""Functions that look for the parts; no rule can recognize the options that matter."""

REMEDIES = {
    "purpose and readers": "write the words 'this page' into the first sentence",
    "prerequisites": "write a sentence 'You need ...' above the first section",
    "smallest example with its output": "write a text block below a block of commands",
    "problems that can occur": "add a section whose heading contains the word 'problem'",
    "next pages": "end the page with a section 'Next pages' that has a link",
}
"""Instructions for the author of a page without the part."""
