"""The published tables that tests check against; every file names its source."""

from pathlib import Path

import yaml

import stereo_framework

PAPERS = Path(stereo_framework.__file__).parent / "papers"
FOLDERS = {
    "cabezas2011": PAPERS / "sigma_z2011",
    "cabezas2012": PAPERS / "groups2012",
    "honauer2015": PAPERS / "hci2015",
    "kostliva2007": PAPERS / "boundary2007",
}
TABLE5_2002 = PAPERS / "taxonomy2002" / "table5.yaml"


def path_of(name):
    """The file of a table, ``cabezas2012_table3``."""
    paper, _, own = name.partition("_")
    return FOLDERS[paper] / f"{own}.yaml"


def table(name):
    """A table as its file has it: source, columns, rows, ..."""
    return yaml.safe_load(path_of(name).read_text())


def rows(name):
    """Values by row."""
    return table(name)["rows"]
