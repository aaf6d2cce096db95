"""Tables as CSV, Markdown and LaTeX."""

from collections.abc import Callable
from typing import Any

from stereo_framework.core.errors import harmless
from stereo_framework.tables.tables import Table, csv_text
from stereo_framework.tables.values import is_number


def to_text(table: Table, format: str) -> str:
    """A table as a text.

    Parameters
    ----------
    table : Table
    format : str
        ``csv``: all digits, without title and notes; ``markdown`` or ``latex`` (booktabs): with the best values in bold.
    """
    if format == "csv":
        return csv_text(table.header, table.rows)
    return _markdown(table) if format == "markdown" else _latex(table)


def _markdown(table: Table) -> str:
    rows = _marked(table, _escaped_markdown, lambda text: f"**{text}**")
    lines = [list(map(_escaped_markdown, table.header)), ["---:" if r else "---" for r in _numeric(table)], *rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([*filter(None, [_escaped_markdown(table.title)]), text, *map(_escaped_markdown, table.notes)]) + "\n"


def _one_line(text: str) -> str:
    """A text that ends no row and no comment, whatever the names in it hold."""
    return harmless(" ".join(text.split()))


def _escaped_markdown(text: str) -> str:
    return "".join(f"\\{c}" if c in "\\|*`<[" else c for c in _one_line(text))


def _latex(table: Table) -> str:
    rows = _marked(table, _escaped_latex, lambda text: rf"\textbf{{{text}}}")
    comments = [f"% {_one_line(line)}" for line in (table.title, *table.notes) if line]
    body = [r"\toprule", _latex_line(map(_escaped_latex, table.header)), r"\midrule", *map(_latex_line, rows), r"\bottomrule"]
    columns = "".join("r" if r else "l" for r in _numeric(table))
    return "\n".join([*comments, r"% \usepackage{booktabs}", rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}"]) + "\n"


def _latex_line(cells: Any) -> str:
    return " & ".join(cells) + r" \\"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def _escaped_latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in _one_line(text))


def _marked(table: Table, escape: Callable[[str], str], bold: Callable[[str], str]) -> list[list[str]]:
    escaped = [[escape(text) for text in row] for row in table.texts()]
    return [[bold(text) if (i, j) in table.best else text for j, text in enumerate(row)] for i, row in enumerate(escaped)]


def _numeric(table: Table) -> list[bool]:
    """Whether each column holds numbers, which are flushed right."""
    columns = zip(*table.rows, strict=True) if table.rows else [()] * len(table.header)
    return [any(map(is_number, c)) and not any(isinstance(v, str) and v not in ("", "failed") for v in c) for c in columns]
