"""Names of what results hold: what was set, and what was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from stereo_framework.core.errors import close_names, nearest
from stereo_framework.core.stage import SLOTS, stages
from stereo_framework.evaluation._protocol import MASKS, REGIONS
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.metrics import GROUPS, METRICS, THRESHOLDED, metric_of
from stereo_framework.script.addresses import parameters, split
from stereo_framework.script.reading import SEARCH

STATISTIC = "statistic"
"""The key that tells statistics apart where several are shown."""

_OF_METHODS = (*SLOTS, "alternatives")
_HEADS = ("scene", "method", STATISTIC, "seed", "search", *_OF_METHODS)
_PLACES: Mapping[str, Sequence[str]] = {
    "region": tuple(dict.fromkeys((*REGIONS, *MASKS))),
    "frame": ("near", "middle", "match", "far"),
    "hci_coverage": tuple(name.removeprefix("hci_") for name in HCI_METRICS),
}
"""What the names of statistics end in, by what their metric is about or by its name; nothing where none stands here."""

ABOUT_RUNS = ("energy", "gap", "lower_bound", "seconds")


def key_fault(name: str) -> str | None:
    """What is wrong with the name of something that was set: a scene, method, slot, parameter, search range or seed.

    Examples
    --------
    >>> key_fault("matching_cost.truncation") is None
    True
    >>> key_fault("search.stop")
    "no such key 'search.stop'; legal keys: search.maximum, search.minimum, search.step, search.truth_margin; did you mean 'search.step'?"
    """
    home, head, _ = split(name)
    heads = _OF_METHODS if home else _HEADS
    if head not in heads:
        return f"no such key {name!r}; {nearest(name.removeprefix(home), heads, kind=f'words after {home}' if home else 'first words')}"
    legal = {home + key for key in _keys_under(head)}
    # Where several stages may stand one may stand twice; they are then told apart by their index.
    generic = re.sub(r"^(\w+)\.[0-9]+\.", r"\1.*.", name.removeprefix(home))
    ends = {re.sub(r"^(\w+)\.\w+\.", r"\1.*.", key) for key in _keys_under(head) if key.count(".") == 2}
    if name in legal or (home + generic != name and generic in ends):
        return None
    return f"no such key {name!r}; {nearest(name, legal, kind='keys')}"


def _keys_under(head: str) -> set[str]:
    if head == "search":
        return {f"search.{key}" for key in SEARCH}
    if head == "alternatives":
        return {head, f"{head}.use"}
    if head not in SLOTS:
        return {head}
    return {head, f"{head}.use", *parameters(head)}


def statistic_fault(name: str) -> str | None:
    """What is wrong with the name of something that was measured, or of a group of measures.

    A protocol may name masks of its own, so a region is refused only where it resembles a known one.

    Examples
    --------
    >>> statistic_fault("bad_pixels_sky") is None
    True
    >>> statistic_fault("rms_error_nonoc").endswith("did you mean 'rms_error_nonocc'?")
    True
    """
    if name in (*ABOUT_RUNS, *GROUPS) or name.partition(".")[0] == "seconds":
        return None
    metric = metric_of(name)
    if metric is None:
        return f"no such statistic {name!r}; {nearest(name, [*METRICS, *ABOUT_RUNS, *GROUPS], kind='statistics begin with')}"
    stem, place = _split(name, metric.name)
    places = _PLACES.get(metric.name, _PLACES.get(metric.about, ()))
    if metric.about == "confidence":
        places = (*(stage.name for stage in stages("confidence")), "matcher")
    legal = [f"{stem}_{one}" for one in places] or [stem]
    own_mask = metric.about == "region" and place and not close_names(place, places)
    return None if name in legal or own_mask else f"no such statistic {name!r}; {nearest(name, legal, kind='statistics')}"


def _split(name: str, metric: str) -> tuple[str, str]:
    """A statistic's metric, with the threshold if there is one, and its region or frame."""
    with_threshold = re.match(r"((?:total_)?bad[0-9.e+-]+)_", name) if metric in THRESHOLDED else None
    stem = with_threshold[1] if with_threshold else metric
    return stem, name[len(stem) + 1 :]
