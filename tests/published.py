"""The published tables that tests check against; every file names its source."""

from pathlib import Path

import yaml

FOLDER = Path(__file__).parent / "data"


def table(name):
    """A table as its file has it: source, columns, rows, ..."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def rows(name):
    """Values by row."""
    found = table(name)
    if isinstance(found["rows"], dict):
        return found["rows"]
    return {row["id"]: row["values"] for row in found["rows"]}
