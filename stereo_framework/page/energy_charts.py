"""Charts of optimizers that minimize one energy: how near each comes to the lower bound over time, and the errors of its map."""

from __future__ import annotations

from collections.abc import Sequence

from stereo_framework.figures.energies import energies_figure
from stereo_framework.figures.saving import svg_text
from stereo_framework.page.page import Block, Picture
from stereo_framework.sweep import Result
from stereo_framework.sweep.result import TRACE
from stereo_framework.tables.words import short_names

_ENERGY = ("preprocessing", "matching_cost", "aggregation", "smoothness", "search")
"""Whose parameters an energy depends on."""

_MOST = 20
"""Charts of a page."""


def energy_blocks(results: Sequence[Result], names: Sequence[str]) -> list[Block]:
    """A chart for each scene and energy of which an optimizer told its trace; settings that differ in their optimizer alone have one energy."""
    traced = {r.scene for r in results if r.environment.get(TRACE)}
    short, found = short_names(sorted(traced)), dict[tuple[str, str], dict[str, Result]]()
    for r, name in zip(results, names, strict=True):
        if r.scene in traced and r.energy is not None and r.error is None:
            energy = str([item for item in sorted(r.parameters.items()) if item[0].startswith(_ENERGY)])
            found.setdefault((r.scene, energy), {})[name] = r
    return [
        Picture(
            svg_text(energies_figure(own, short[scene])), f"energy over time and errors over energy, {short[scene]}", short[scene]
        )
        for (scene, _), own in list(found.items())[:_MOST]
        if any(r.trace for r in own.values())
    ]
