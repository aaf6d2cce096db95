"""Run the study of photographs and write docs/photographs.md's tables, answers and pictures: ``python scripts/photographs_page.py [--data DIR] [--out DIR]``.

What is in DIR already is not computed again.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path

from stereo_framework.page.page import Statement
from stereo_framework.papers import find_paper
from stereo_framework.papers.reproduce import reproduce

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "photographs.md"
MOST = 4
"""Cases that an answer shows; all stand in the table of statements that the command writes."""


def answer(statement: Statement) -> str:
    """A sentence, whether it holds, and the figures that decide, those against it first."""
    said = f"{statement.text} (2002, {statement.source})" if statement.source else statement.text
    cases = statement.figures.replace("NOT ", "**against it:** ").split("; ")
    more = f"; and {len(cases) - MOST} more comparisons" if len(cases) > MOST else ""
    return f"- {said.rstrip('.')}: **{statement.verdict}**. {'; '.join(cases[:MOST])}{more}."


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("reproduction/photographs"))
    arguments = parser.parse_args()
    done = reproduce(find_paper("photographs"), arguments.out, data=arguments.data)
    text = PAGE.read_text(encoding="utf-8")
    for name, outcome in done.outcomes.items():
        # Without its title and its notes, which the page has once.
        table = next(
            part for part in (arguments.out / "tables" / f"{name}_0.md").read_text().split("\n\n") if part.startswith("|")
        )
        table = re.sub(r"(\d\.\d)\d+(?= \|)", r"\1", table) if name != "sub_pixel" else table
        made = "\n\n".join([table.strip(), "\n".join(map(answer, outcome.statements))])
        text = re.sub(rf"(<!-- {name} -->\n).*?(\n<!-- end -->)", lambda m, made=made: m[1] + made + m[2], text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")
    pictures = DOCS / "images" / "photographs"
    pictures.mkdir(exist_ok=True)
    for path in sorted((arguments.out / "figures").glob("*.svg")):
        shutil.copy(path, pictures)


if __name__ == "__main__":
    main()
