"""Links: what a method runs, in which order and for which view; `steps.py` adds how.

Every stage up to the last that names ``other`` runs for both views. A stage that names it sees the other view as it was before that same stage.
Between two such stages the views run one after the other as long as volumes are read, so that one volume is there at a time, and then stage by
stage, so that settings which differ late share both views' common beginning.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from stereo_framework.engine.costs import CostSum
from stereo_framework.stage import Bound

REFERENCE, MATCH, BOTH = 0, 1, 2
"""The view that a step works on: the reference image's, the match image's, or both at once."""

Name = tuple[int, str]
"""A volume of a view: ``(view, "volume")`` or ``(view, "raw")``."""

VOLUMES = frozenset({"volume", "raw"})

RESTORE = "restore_outside"
"""Address of the step that the pipeline inserts after the last aggregation."""


@dataclass(frozen=True)
class Link:
    """What runs at one place of a method, and for which view.

    Parameters
    ----------
    address : str
        As in scripts, ``aggregation.box``.
    work : Bound, CostSum or another hashable
        What runs: a stage, a sum of costs, alternatives (a tuple of pipelines), a whole method under a scheme, or None, which restores the cells
        out of view.
    view : int
    compact : bool
        Of a matching cost: all that follows takes compact volumes.
    """

    address: str
    work: Any
    view: int = REFERENCE
    compact: bool = False

    @property
    def slot(self) -> str:
        """The first word of the address."""
        return self.address.partition(".")[0]

    @property
    def bound(self) -> Bound | None:
        """The stage, if the step runs just one."""
        return self.work if isinstance(self.work, Bound) else None

    @property
    def data(self) -> frozenset[str]:
        """What the step's stages name."""
        if isinstance(self.work, CostSum):
            return self.work.data
        return frozenset(self.work.stage.data) if isinstance(self.work, Bound) else frozenset()

    @property
    def declares_halo(self) -> bool:
        """Whether the step's stages say that they are local; with some parameters they may not be."""
        parts = self.work.parts if isinstance(self.work, CostSum) else [self.work] if self.bound else []
        return bool(parts) and all(part.stage.halo is not None for part in parts)

    @functools.cached_property
    def names(self) -> frozenset[Name]:
        """The volumes that must be there before the step."""
        own, across = ((REFERENCE, MATCH),) * 2 if self.view == BOTH else ((self.view,), (1 - self.view,))
        volumes = (self.data & VOLUMES) | ({"volume"} if self.slot in ("aggregation", "optimization", RESTORE) else set())
        needs = self.bound.stage.other_needs if self.bound is not None and "other" in self.data else ()
        return frozenset([(view, name) for view in own for name in volumes] + [(view, name) for view in across for name in needs])

    @property
    def touches_volume(self) -> bool:
        """Whether the step makes or reads a volume."""
        return bool(self.names) or self.slot == "matching_cost"


def running_order(steps: Sequence[tuple[str, Any]], *, both: bool) -> list[Link]:
    """The steps of a method in the order in which they run.

    Parameters
    ----------
    steps : sequence of (str, work)
        Addresses and what runs there, for one view.
    both : bool
        The result of both views is wanted.
    """
    plain = [Link(address, work) for address, work in steps]
    across = [i for i, link in enumerate(plain) if "other" in link.data]
    last = len(plain) if both else across[-1] if across else 0
    # Images are prepared by what the reference view of alternatives shows.
    asked = any("alternatives" in link.data and link.slot != "preprocessing" for link in plain)
    found: list[Link] = []
    start = 0
    for end in [*(i for i in across if i <= last), *([last] if both else [])]:
        found += _between(plain[start:end], BOTH if asked else REFERENCE)
        if end < len(plain):
            # The last one that looks across changes the wanted view alone.
            found.append(Link(plain[end].address, plain[end].work, BOTH if both or end < last else REFERENCE))
        start = end + 1
    return found + plain[start:]


def _between(links: Sequence[Link], alternatives: int) -> Iterator[Link]:
    """Steps between two stages that look across, for both views. Images are prepared once for both; `alternatives`: the views of those that are needed."""
    images = [link for link in links if link.slot in ("alternatives", "preprocessing")]
    yield from (Link(link.address, link.work, alternatives) if link.slot == "alternatives" else link for link in images)
    links = links[len(images) :]
    volumes = max((i + 1 for i, link in enumerate(links) if link.touches_volume or link.slot in ("matcher", "scheme")), default=0)
    for view in (REFERENCE, MATCH):
        yield from (Link(link.address, link.work, view) for link in links[:volumes])
    for link in links[volumes:]:
        yield from (Link(link.address, link.work, view) for view in (REFERENCE, MATCH))
