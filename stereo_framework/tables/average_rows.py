"""Rows of a table that hold the average over scenes which the protocol of the results prescribes, below the rows of the scenes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from stereo_framework.core.errors import DataError
from stereo_framework.datasets import load_scene
from stereo_framework.evaluation import Protocol, resolve
from stereo_framework.evaluation.protocol_average import average
from stereo_framework.evaluation.protocols import PRESETS
from stereo_framework.io import PathLike
from stereo_framework.tables.words import setting_name, short_names

if TYPE_CHECKING:
    from stereo_framework.sweep import Result

_AVERAGE = re.compile(r"average of \d+( of \d+)?")


def is_average(scene: str) -> bool:
    """Whether a text in the place of a scene's name says that the row is an average over several scenes.

    Examples
    --------
    >>> is_average("average of 9 of 10"), is_average("middlebury2001/tsukuba")
    (True, False)
    """
    return _AVERAGE.fullmatch(scene) is not None


def average_rows(results: Sequence[Result], data: PathLike | None = None) -> list[Result]:
    """For each method and setting, a row with the average over the scenes that its protocol prescribes.

    Parameters
    ----------
    results : sequence of Result
        They may be of several protocols.
    data : path-like, optional
        Data root, where the weights of scenes are looked up if the protocol weights them.

    Returns
    -------
    list of Result
        Their scene is ``average of 10``, or ``average of 9 of 10`` if the method lacks a result on a scene on which another method was measured; a
        warning of the row then names it.
        There are no such rows if there is only one scene, if the protocol is not known any more, or if the weights of scenes cannot be looked up.
    """
    found = []
    for text in dict.fromkeys(r.protocol_text for r in results):
        same = [r for r in results if r.protocol_text == text and not is_average(r.scene)]
        scenes = dict.fromkeys(r.scene for r in same)
        protocol = protocol_of(same) if len(scenes) > 1 else None
        if protocol is None:
            continue
        weights = _weights(scenes, data) if protocol.averaging == "weighted" else dict.fromkeys(scenes, 1.0)
        if weights is None:
            continue
        settings: dict[str, list[Result]] = {}
        for r in same:
            settings.setdefault(setting_name(r), []).append(r)
        for own in settings.values():
            there = [r for r in own if r.statistics]
            if there and len({r.scene for r in there}) == len(there):
                mean = average([r.statistics for r in there], protocol, [weights[r.scene] for r in there])
                of = f"average of {len(there)}" + (f" of {len(scenes)}" if len(there) < len(scenes) else "")
                absent = short_names(scenes.keys() - {r.scene for r in there}).values()
                told = (f"without {', '.join(absent)}, where it has no result",) if absent else ()
                blank: dict[str, Any] = {"energy": None, "seconds": {}, "warnings": told, "error": None, "map": None, "id": ""}
                found.append(replace(there[0], scene=of, statistics=mean, _disparity=None, **blank))
    return found


def protocol_of(results: Sequence[Result]) -> Protocol | None:
    """The protocol that results have in common: a preset, or one that a script of theirs describes; None if it is neither."""
    text = results[0].protocol_text
    if (preset := next((p for p in map(resolve, PRESETS) if str(p) == text), None)) is not None:
        return preset
    specs: list[Any] = []
    for r in results:
        own = (r.script.get("evaluation") or {}).get("protocol") or []
        specs += [spec for spec in (own if isinstance(own, list) else [own]) if spec not in specs]
    return next((p for p in map(resolve, specs) if str(p) == text), None)


def _weights(scenes: Iterable[str], data: PathLike | None) -> dict[str, float] | None:
    try:
        return {scene: load_scene(scene, data=data).weight for scene in scenes}
    except DataError:
        return None
