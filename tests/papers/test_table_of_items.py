"""docs/papers.md tells of everything that a paper has here, and of nothing else; README counts all that is asked."""

import re
from pathlib import Path

import pytest

from stereo_framework.papers import NAMES, find_paper
from stereo_framework.papers.claim import KINDS

ROOT = Path(__file__).parents[2]
PARTS = dict(re.findall(r"^## (\w+):.*?\n(.*?)(?=^## |\Z)", (ROOT / "docs/papers.md").read_text(), re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_every_item_stands_in_the_table(name):
    told = set(re.findall(r"`([a-z][a-z0-9_]*)`", PARTS[name]))
    items = {item.name for item in find_paper(name).items}
    assert items <= told
    assert {word for word in told if re.match(r"(tables?|figure|experiment)\d", word)} <= items


def test_every_file_is_there():
    files = [m for part in PARTS.values() for m in re.findall(r"`((?:evaluation|tables|configs)/[\w/.]+)`", part)]
    assert files
    assert [f for f in files if not ((ROOT / "stereo_framework" / f).exists() or (ROOT / f).exists())] == []


def test_the_table_of_papers_counts_all_that_is_asked():
    rows = re.findall(
        r"^\| `(\w+)` \|[^|]*\| (\d+|-) / (\d+) \| (\d+) / (\d+) \| (\d+) \| (\d+|-) / (\d+) \|$",
        (ROOT / "docs" / "papers.md").read_text(),
        re.MULTILINE,
    )
    assert {row[0] for row in rows} == set(NAMES)
    for name, hold, runs, in_print, printed, never, passing, own in rows:
        kinds = [claim.kind for claim in find_paper(name).claims.values()]
        assert tuple(map(int, (runs, printed, never, own))) == tuple(map(kinds.count, KINDS)), name
        assert int(in_print) <= int(printed)
        assert passing == "-" or int(passing) <= int(own)
        assert hold == "-" or int(hold) <= int(runs)
