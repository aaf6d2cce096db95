"""Figures 1, 4 to 7, 17 and 18: the disparity space, regions, warped images, scenes and disparity maps."""

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.evaluate import predictions
from stereo_framework.evaluation.prediction import prediction_error
from stereo_framework.evaluation.protocols import derive
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures.prediction_strip import prediction_figure
from stereo_framework.io.images import encode_png
from stereo_framework.matching_cost.absolute_difference import absolute_difference
from stereo_framework.page.page import Block, Picture
from stereo_framework.page.stored_pictures import Scenes, Stored, scene_row, stored_map, stored_picture
from stereo_framework.papers.comparison import plain_table
from stereo_framework.papers.paper import Context, Outcome, painted
from stereo_framework.papers.taxonomy2002.tables import SCENES

_SLICES, _ROW = (10, 16, 21), 151
"""Levels and row that Figure 1 shows. Bookshelves, table and head lie at these levels if they are half pixels, which the paper leaves open."""


def figure1(context: Context) -> Outcome:
    """Slices of the disparity space of tsukuba: three with all pixels at one level, and one with all levels of one row."""
    blocks: list[Block] = []
    for scene in context.scenes(["tsukuba"]):
        assert scene.search is not None
        costs = absolute_difference(scene.reference, scene.match, replace(scene.search, step=0.5)).costs
        # The median cost is a middle grey.
        grey = np.clip(128 * costs / max(float(np.median(costs)), 1), 0, 255).astype(np.uint8)
        slices = {f"{level / 2:g} px": stored_picture(grey[:, :, level]) for level in _SLICES}
        row = encode_png(np.repeat(grey[_ROW].T[::-1], 6, axis=0))
        caption = f"Row {_ROW} of {scene.name}: disparity upwards, column to the right."
        blocks += [
            Scenes([scene_row(scene, slices)], "Slices of one disparity"),
            Picture(row, "costs of a row by disparity", caption),
        ]
    return Outcome(blocks)


def figure4(context: Context) -> Outcome:
    """Region maps: textureless white, discontinuities white, occluded pixels black."""
    rows = []
    for scene in context.scenes(SCENES):
        masks = region_masks(scene, resolve("taxonomy2002"))
        shown = {
            name: stored_picture(np.where(masks["occ"], 0, np.where(masks[region], 255, 128)).astype(np.uint8))
            for name, region in (("textureless", "textureless"), ("discontinuities", "discont"))
        }
        shares = [f"{name} {100 * masks[name].sum() / masks['all'].sum():.1f} %" for name in ("occ", "textureless", "discont")]
        rows.append(scene_row(scene, shown, note=f"Of the evaluated pixels: {', '.join(shares)}."))
    return Outcome([Scenes(rows)])


def _warps(name: str, kind: str, context: Context) -> Outcome:
    """Warped images, drawn with the true disparities."""
    blocks: list[Block] = []
    rows: list[tuple[str, str, float, float]] = []
    for scene, truth in context.truths(SCENES):
        views = predictions(scene, truth, derive(resolve("taxonomy2002"), {"prediction": kind}))
        figure = prediction_figure(views, None, f"{scene.name}: {kind} prediction by the truth")
        description, file = f"{scene.name}: real frames above, {kind} predictions below", scene.name.replace("/", "-")
        blocks.append(painted(f"{name}_{file}", figure, description, scene.name))
        for place, (prediction, real) in views.items():
            rows.append((scene.name, place, prediction_error(prediction, real), 100 * float(np.mean(~prediction.visible))))
    header = ["scene", "frame", "prediction error (grey levels)", "gaps (%)"]
    table = plain_table("Prediction errors of the truth, and the share of gaps", header, rows)
    return Outcome([*blocks, table])


figure5 = partial(_warps, "figure5", "forward")
figure6 = partial(_warps, "figure6", "inverse")


def figure7(context: Context) -> Outcome:
    """Reference images and true disparities of the four scenes."""
    rows = []
    for scene in context.scenes(SCENES):
        height, width = scene.reference.shape[:2]
        note = f"{width}x{height} pixels, disparities {scene.search} px, {len(scene.frames)} frames."
        rows.append(scene_row(scene, {}, note=note))
    return Outcome([Scenes(rows)])


def figure12(context: Context) -> Outcome:
    """Foreground fattening on the map scene: sums of absolute differences over 21x21 pixels, without and with the minimum filter."""
    shares, rows = {}, []
    for scene, truth in context.truths(["map"]):
        near_edges, shown = region_masks(scene, resolve("taxonomy2002"))["discont"], {}
        for r in context.run("figure12", maps=True):
            if r.disparity is not None:
                shares[r.method] = too_near(r.disparity - truth, near_edges)
                caption = f"Near discontinuities {shares[r.method]:.2f} % are more than a pixel too near, {r.statistics['bad_pixels_discont']:.2f} % are bad in either way."
                shown[r.method] = stored_map(r.disparity, caption=caption)
        rows.append(scene_row(scene, shown, resolve("taxonomy2002")))
    return Outcome([Scenes(rows, layer="error")], data={"shares": shares})


def too_near(error: NDArray, mask: NDArray[np.bool_]) -> float:
    """Percent of a region's pixels whose disparity is more than one pixel too large."""
    return 100 * float(np.mean(error[mask] > 1))


def figure17(context: Context) -> Outcome:
    """Disparity maps of the five methods on the four scenes, with truth and errors to blink between."""
    rows, changes = [], dict[str, dict[str, float]]()
    for scene in context.scenes(SCENES):
        shown: dict[str, Stored] = {}
        for r in context.run("table5", maps=True):
            # Of several orders of moves the first one.
            if r.scene == scene.name and r.method not in shown and r.disparity is not None:
                shown[r.method] = stored_map(r.disparity, caption=f"{r.statistics['bad_pixels_nonocc']:.2f} % bad")
                changes.setdefault(scene.name, {})[r.method] = row_changes(r.disparity)
        rows.append(scene_row(scene, shown, resolve("taxonomy2002")))
    return Outcome([Scenes(rows)], data={"changes": changes})


def row_changes(disparity: NDArray) -> float:
    """Percent of pixels whose disparity differs from that of the pixel below."""
    return 100 * float(np.mean(disparity[1:] != disparity[:-1]))
