"""Published experiments that one command repeats, with their tables and figures beside ours.

Each paper is a package in this folder. It holds the published tables (``tableN.yaml``: facts, with their source), the paper's sentences and the order of its items
(``paper.yaml``), the functions that judge these sentences (``claims.py``) and those that build the items. Its parameter scripts lie in ``configs/NAME``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from stereo_framework.core.errors import ParameterError, nearest

if TYPE_CHECKING:
    from stereo_framework.papers.paper import Paper

NAMES = ("taxonomy2002", "boundary2007", "sigma_z2011", "groups2012", "hci2015", "energies2008", "photographs")
"""The papers that can be reproduced."""


def find_paper(name: str) -> Paper:
    """The paper of that name.

    Raises
    ------
    ParameterError
        There is none; the message lists all papers.
    """
    if name not in NAMES:
        raise ParameterError(f"no paper {name!r}; {nearest(name, NAMES, kind='papers')}")
    paper: Paper = importlib.import_module(f"stereo_framework.papers.{name}").PAPER
    return paper
