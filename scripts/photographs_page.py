"""Run the study of photographs and write docs/photographs.md's tables, answers and pictures: ``python scripts/photographs_page.py [--data DIR] [--out DIR]``.

What is in DIR already is not computed again.
"""

import argparse
import re
import shutil
from pathlib import Path

from stereo_framework.core.plugins import load_plugin
from stereo_framework.page.page import Statement
from stereo_framework.papers import find_paper
from stereo_framework.papers.reproduce import reproduce
from stereo_framework.tables.formats import to_text
from stereo_framework.tables.tables import Table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "photographs.md"
MOST = 2
"""Cases that an answer shows; all stand in the table of statements that the command writes."""


def answer(statement: Statement) -> str:
    """A sentence, whether it holds, and the figures that decide, those against it first."""
    said = f"{statement.text} (2002, {statement.source})" if statement.source else statement.text
    cases = statement.figures.replace("not met: ", "**against it:** ").split("; ")
    more = f"; {len(cases) - MOST} more of the kind" if len(cases) > MOST else ""
    return f"- {said.rstrip('.')}: **{statement.verdict}**. {'; '.join(cases[:MOST])}{more}."


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("reproduction/photographs"))
    arguments = parser.parse_args()
    load_plugin(str(ROOT / "benchmarks" / "photographs.py"))
    done = reproduce(find_paper("photographs"), arguments.out, data=arguments.data)
    text = PAGE.read_text(encoding="utf-8")
    for name, outcome in done.outcomes.items():
        shown = next(block for block in outcome.blocks if isinstance(block, Table))
        table = to_text(Table(shown.header, shown.texts()), "markdown").strip()
        made = "\n\n".join([table, "\n".join(map(answer, outcome.statements))])
        text = re.sub(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", lambda m, made=made: m[1] + made + m[2], text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")
    pictures = DOCS / "images" / "photographs"
    pictures.mkdir(exist_ok=True)
    for path in sorted((arguments.out / "figures").glob("*.svg")):
        shutil.copy(path, pictures)


if __name__ == "__main__":
    main()
