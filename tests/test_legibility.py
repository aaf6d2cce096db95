"""The legibility of this project, compared with a table of ceilings.

The table is `tests/legibility_ceilings.txt`. The module `scripts/meter/ceilings.py`
explains the rules.
"""

from pathlib import Path

import pytest
from meter.ceilings import read_table
from meter.review import (
    CEILINGS,
    complaints_about_ceilings,
    complaints_about_old_ceilings,
    complaints_about_rows,
    groups_with_ceilings,
)

ROOT = Path(__file__).parents[1]


@pytest.fixture
def table(monkeypatch):
    """Read the table of ceilings in the folder of the project."""
    monkeypatch.chdir(ROOT)
    return read_table(CEILINGS)


def test_each_group_of_files_has_a_row_of_ceilings(table):
    complaints = complaints_about_rows(table)
    assert complaints == [], "\n".join(complaints)


def test_no_group_exceeds_its_ceilings_or_is_clearly_below(table):
    groups = groups_with_ceilings()
    complaints = complaints_about_ceilings(table, groups)
    complaints += complaints_about_old_ceilings(table, groups)
    if complaints:
        pytest.fail("\n".join(complaints), pytrace=False)
