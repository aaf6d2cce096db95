"""Pictures like those in Figures 1 to 5: the subsets, and where our methods fail on them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import cv2

from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.regions import hci_subsets
from stereo_framework.figures.hci_pictures import metrics_figure, subsets_figure
from stereo_framework.figures.saving import rendered
from stereo_framework.io import read_disparity
from stereo_framework.io.images import encode_png
from stereo_framework.page.page import Block, Picture, Text
from stereo_framework.papers.hci2015.runs import COLUMNS, FOLDER, GEOMETRIC, dense, on, results
from stereo_framework.papers.paper import Context, Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOTES = {
    "Pipes": "Planes on the pipes themselves are their middles, which bend by less than the tolerance of a quarter of a pixel.",
    "Playroom": "The bars of the chair's back are 11 to 13 pixels wide, above the 10.5 that count as fine here.",
    "Adirondack": "The only fine structure is the handle of the mug. The cloth and the maps behind the chair are flat in parts.",
}


_SAME = 0.05
"""Relative difference up to which two RMS errors count as equal."""


def figure1(context: Context) -> Outcome:
    """Two maps with nearly the same RMS error that fail in different ways: of all such pairs on a scene, the one that differs most in the nine metrics."""
    found = on(dense(results(context)), "Adirondack")
    pair = _same_rms({name: {c: r.statistics[COLUMNS[c]] for c in COLUMNS} for name, r in found.items()})
    if pair is None:
        return Outcome([Text("No two methods have nearly the same RMS error on Adirondack.")])
    text = "The paper's own pair of maps is not to be had. " + "; ".join(
        f"{name}: " + ", ".join(f"{c} {found[name].statistics[COLUMNS[c]]:.3g}" for c in ("RMS", *GEOMETRIC)) for name in pair
    )
    shown = _metrics(context, "figure1", "Adirondack", ("D_fat", "D_fuz", "P_bump", "P_orient"), pair)
    return Outcome([Text(text), *shown.blocks], files=shown.files)


def _same_rms(scores: Mapping[str, Mapping[str, float]]) -> tuple[str, str] | None:
    """The pair of methods of nearly the same RMS whose scores differ most, as shares of the larger one, summed over the metrics."""

    def different(a: str, b: str) -> float:
        pairs = [(scores[a][c], scores[b][c]) for c in GEOMETRIC]
        return sum(abs(x - y) / max(x, y) for x, y in pairs if x >= 0 and y >= 0 and max(x, y) > 0)

    same = [
        (a, b)
        for a, b in itertools.combinations(scores, 2)
        if abs(scores[a]["RMS"] - scores[b]["RMS"]) <= _SAME * max(scores[a]["RMS"], scores[b]["RMS"])
    ]
    return max(same, key=lambda pair: different(*pair), default=None)


def figure2(context: Context) -> Outcome:
    """Fattening, thinning and fuzziness on Adirondack."""
    return _metrics(context, "figure2", "Adirondack", ("D_fat", "D_thin", "D_fuz"), ("window", "so", "gc", "sgbm"))


def figure3(context: Context) -> Outcome:
    """The subsets of three scenes."""
    blocks: list[Block] = []
    files: dict[str, str | bytes] = {}
    for scene in context.scenes([FOLDER + name for name in ("Pipes", "Playroom", "Adirondack")]):
        short = scene.name.removeprefix(FOLDER)
        picture, files[f"figure3_{short}.png"] = _drawn(subsets_figure(scene.reference, hci_subsets(scene), short))
        description = f"subsets of {short}: discontinuities, planes, fine structures"
        blocks.append(Picture(picture, description, f"{short}. {_NOTES[short]}"))
    return Outcome(blocks, files=files)


def figure4(context: Context) -> Outcome:
    """Bumpiness, offset and misorientation on PlaytableP."""
    methods = ("window", "window_subpixel", "gc", "sgbm")
    return _metrics(context, "figure4", "PlaytableP", ("P_bump", "P_off", "P_orient"), methods)


def figure5_pictures(context: Context) -> Outcome:
    """Porosity, fragmentation and detail fattening on Pipes."""
    return _metrics(context, "figure5", "Pipes", ("F_por", "F_frag", "F_fat"), ("window", "ssd", "bp", "sgbm"))


def _metrics(context: Context, name: str, scene: str, columns: Sequence[str], methods: Sequence[str]) -> Outcome:
    """A row of pictures for each of these methods that has a map of this scene."""
    found = on(results(context), scene)
    blocks: list[Block] = []
    files: dict[str, str | bytes] = {}
    for loaded in context.scenes([FOLDER + scene]):
        assert loaded.truth is not None
        for method in methods:
            path = found[method].map if method in found else None
            if path is None:
                continue
            title = f"{scene}, {method}"
            disparity, metrics = read_disparity(path), [COLUMNS[column] for column in columns]
            shown = {name: HCI_METRICS[name].measure(disparity, loaded.truth, hci_subsets(loaded)) for name in metrics}
            figure = metrics_figure(loaded.reference, shown, title)
            picture, files[f"{name}_{scene}_{method}.png"] = _drawn(figure)
            blocks.append(Picture(picture, f"{', '.join(columns)} of {method} on {scene}, pixel by pixel", title))
    return Outcome(blocks or [Text(f"{scene} is not among the scenes that were run.")], files=files)


def _drawn(figure: Figure) -> tuple[bytes, bytes]:
    """A picture twice: at half size, so that the page stays small, and as it was drawn."""
    whole = rendered(figure)
    return encode_png(cv2.resize(whole, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_AREA)), encode_png(whole)
