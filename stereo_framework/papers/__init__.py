"""Published experiments that one command runs again: their tables and figures beside ours.

A paper is a package here with its published tables (``tableN.yaml``: facts, with their source), what it says besides (``claims.yaml``), the functions
that rebuild its items and judge its claims, and one `Paper` that lists them; its parameter scripts lie in ``configs/NAME``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from stereo_framework.errors import ParameterError, nearest

if TYPE_CHECKING:
    from stereo_framework.papers.paper import Paper

NAMES = ("taxonomy2002", "boundary2007", "sigma_z2011", "groups2012", "hci2015", "truth_free")
"""The papers that can be reproduced."""


def find_paper(name: str) -> Paper:
    """The paper of that name.

    Raises
    ------
    ParameterError
        There is none; the line lists them.
    """
    if name not in NAMES:
        raise ParameterError(f"no paper {name!r}; {nearest(name, NAMES, kind='papers')}")
    paper: Paper = importlib.import_module(f"stereo_framework.papers.{name}").PAPER
    return paper
