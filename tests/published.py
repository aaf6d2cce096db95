"""The published tables that tests check against; every file names its source."""

from pathlib import Path

import yaml

import stereo_framework

FOLDER = Path(__file__).parent / "data"
TABLE5_2002 = Path(stereo_framework.__file__).parent / "papers" / "taxonomy2002" / "table5.yaml"


def table(name):
    """A table as its file has it: source, columns, rows, ..."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def rows(name):
    """Values by row."""
    return table(name)["rows"]
