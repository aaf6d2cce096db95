"""Figures 4 to 7, 17 and 18: regions, warped images, scenes and disparity maps."""

from __future__ import annotations

import numpy as np

from stereo_framework.evaluation import resolve
from stereo_framework.evaluation.evaluate import predictions
from stereo_framework.evaluation.protocols import derive
from stereo_framework.evaluation.regions import region_masks
from stereo_framework.figures.layers import disparity_colours, grey_levels, scene_layers
from stereo_framework.figures.prediction_strip import prediction_figure
from stereo_framework.figures.saving import rendered
from stereo_framework.io import read_disparity
from stereo_framework.io.images import encode_png
from stereo_framework.page.page import Block, Picture, Text, Viewer
from stereo_framework.papers.paper import Context, Outcome
from stereo_framework.papers.taxonomy2002.table5 import METHODS, SCENES


def figure4(context: Context) -> Outcome:
    """Region maps: textureless white, discontinuities white, occluded pixels black."""
    blocks: list[Block] = [
        Text("Textureless and discontinuity regions in white, occluded pixels in black, all else and the border in grey.")
    ]
    for scene in context.scenes(SCENES):
        masks = region_masks(scene, resolve("taxonomy2002"))
        layers = [("image", encode_png(grey_levels(scene.reference)))]
        for name, region in (("textureless", "textureless"), ("discontinuities", "discont")):
            picture = np.full(scene.reference.shape[:2], 128, np.uint8)
            picture[masks[region]] = 255
            picture[masks["occ"]] = 0
            layers.append((name, encode_png(picture)))
        shares = ", ".join(
            f"{name} {100 * masks[name].sum() / masks['all'].sum():.1f} %" for name in ("occ", "textureless", "discont")
        )
        blocks.append(Viewer(scene.name, layers, f"Of the evaluated pixels: {shares}."))
    return Outcome(blocks)


def figure5(context: Context) -> Outcome:
    """Forward-warped reference images, drawn with the true disparities."""
    return _warps(context, "forward", "Every frame as it is and as the true disparities draw it from the reference image.")


def figure6(context: Context) -> Outcome:
    """Inverse-warped images, drawn with the true disparities."""
    return _warps(context, "inverse", "The reference image as it is and as the true disparities fetch it from every frame.")


def _warps(context: Context, kind: str, text: str) -> Outcome:
    blocks: list[Block] = [Text(text)]
    files: dict[str, str | bytes] = {}
    for scene in context.scenes(SCENES):
        assert scene.truth is not None
        views = predictions(scene, scene.truth, derive(resolve("taxonomy2002"), {"prediction": kind}))
        name = f"{'figure5' if kind == 'forward' else 'figure6'}_{scene.name.replace('/', '-')}.png"
        files[name] = encode_png(rendered(prediction_figure(views, None, f"{scene.name}: {kind} prediction by the truth")))
        blocks.append(Picture(files[name], f"{scene.name}: real frames above, {kind} predictions below", scene.name))
    return Outcome(blocks, files=files)


def figure7(context: Context) -> Outcome:
    """Reference images and true disparities of the four scenes."""
    blocks: list[Block] = []
    for scene in context.scenes(SCENES):
        assert scene.truth is not None
        assert scene.search is not None
        shown = (scene.search.minimum, scene.search.maximum)
        layers = [
            ("image", encode_png(grey_levels(scene.reference))),
            ("true disparities", encode_png(disparity_colours(scene.truth, shown))),
        ]
        note = f"{scene.reference.shape[1]}x{scene.reference.shape[0]} pixels, disparities {scene.search} px, {len(scene.frames)} frames."
        blocks.append(Viewer(scene.name, layers, note))
    return Outcome(blocks)


def figure17(context: Context) -> Outcome:
    """Disparity maps of the five methods on the four scenes, with truth and errors to blink between."""
    results = context.run("table5", maps=True)
    blocks: list[Block] = []
    for scene in context.scenes(SCENES):
        for method in METHODS:
            found = [r for r in results if r.method == method and r.scene == scene.name and r.map is not None]
            if not found or found[0].map is None:
                continue
            layers = scene_layers(scene, read_disparity(found[0].map), resolve("taxonomy2002"))
            bad = found[0].statistics["bad_pixels_nonocc"]
            blocks.append(Viewer(f"{scene.name}, {method}", layers, f"{bad:.2f} % of the non-occluded pixels are bad."))
    return Outcome(blocks)
