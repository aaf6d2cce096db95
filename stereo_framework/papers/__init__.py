"""Published experiments that one command repeats, with their tables and figures beside ours.

Each paper is a package in this folder. It holds the published tables (``tableN.yaml``: facts, with their source), the paper's sentences and its items in their order, with how to
read them (``paper.yaml``), the functions that judge these sentences (in larger papers in ``claims.py``) and those that build the items, each by its name, or several
by one name with the parameters that stand beside it. An item returns what it found, and the sentences of the item are asked of it. Parameter scripts lie in ``configs/NAME``.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.registry import Registry

if TYPE_CHECKING:
    from stereo_framework.papers.paper import Paper


def _shipped(name: str) -> Paper:
    from stereo_framework.papers.paper import built_in_paper

    return built_in_paper(name)


NAMES = ("taxonomy2002", "boundary2007", "sigma_z2011", "groups2012", "hci2015", "energies2008")
"""The papers of the package."""

PAPERS: Registry[Callable[[], Paper]] = Registry(
    "paper", {name: functools.partial(_shipped, name) for name in NAMES}
)
"""What gives each paper that can be reproduced, those of plug-ins too."""


def add_paper(paper: Paper) -> Paper:
    """Register a paper, so that ``reproduce`` finds it by its name.

    Parameters
    ----------
    paper : Paper
        Its items, which run scripts and compare, and its sentences, each with a rule; ``stages --new NAME --slot paper`` writes an example.

    Raises
    ------
    ParameterError
        Another module has a paper of this name.
    """
    PAPERS.add(paper.name, lambda: paper, sys._getframe(1).f_globals.get("__name__", "__main__"))
    return paper


def find_paper(name: str) -> Paper:
    """The paper of that name.

    Raises
    ------
    ParameterError
        There is none; the message lists all papers.
    """
    if name not in PAPERS:
        raise ParameterError(f"no paper {name!r}; {nearest(name, PAPERS, kind='papers')}")
    return PAPERS[name]()
