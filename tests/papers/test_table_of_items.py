"""docs/papers.md tells of everything that a paper has here, and of nothing else. Its counts are tested in `test_paper_counts`."""

import re
from pathlib import Path

import pytest

from stereo_framework.papers import NAMES, find_paper

ROOT = Path(__file__).parents[2]
PARTS = dict(
    re.findall(
        r"^## (\w+):.*?\n(.*?)(?=^## |\Z)",
        (ROOT / "docs/papers.md").read_text(),
        re.DOTALL | re.MULTILINE,
    )
)


@pytest.mark.parametrize("name", NAMES)
def test_every_item_stands_in_the_table(name):
    told = set(re.findall(r"`([a-z][a-z0-9_]*)`", PARTS[name]))
    items = {item.name for item in find_paper(name).items}
    assert items <= told
    assert {word for word in told if re.match(r"(tables?|figure|experiment)\d", word)} <= items


def test_every_file_is_there():
    files = [
        m
        for part in PARTS.values()
        for m in re.findall(r"`((?:evaluation|tables|configs)/[\w/.]+)`", part)
    ]
    assert files
    assert [
        f for f in files if not ((ROOT / "stereo_framework" / f).exists() or (ROOT / f).exists())
    ] == []
