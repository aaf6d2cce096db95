"""Draw the pictures of guides: ``python scripts/howto_pictures.py [NAME ...]``. Needs the scenes teddy and Adirondack, and the extra `tune`.

Most run what the page itself says: its scripts, its commands, its Python.
"""

import argparse
import contextlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import cv2
import numpy as np
from matplotlib.figure import Figure
from PIL import Image

import stereo_framework as sf
from stereo_framework.cli.main import main as program
from stereo_framework.io import write_disparity
from stereo_framework.sweep.tune import tune as search
from stereo_framework.user_pair.rectify import rectified_by_points

DOCS = Path(__file__).parents[1] / "docs"
OUT = DOCS / "images" / "howto"


def files_of(page: str) -> None:
    """Write the scripts that a page shows to the working directory."""
    for name, text in re.findall(
        r"```yaml\n# (\S+)\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL
    ):
        Path(name).write_text(text, encoding="utf-8")


def command(line: str) -> None:
    """Run a command of the program."""
    sys.argv = ["stereo-framework", *line.split()]
    with contextlib.suppress(SystemExit):
        program()


def keep(figure: Figure, name: str) -> None:
    """Write a figure."""
    figure.savefig(OUT / f"{name}.png", dpi=80)


def copied(path: str, name: str) -> None:
    """A picture that the program wrote, as a small JPEG."""
    picture = Image.open(path).convert("RGB")
    picture.thumbnail((1000, 1000))
    picture.save(OUT / f"{name}.jpg", quality=80)


def sweep() -> None:
    """The plot that the page's script asks for."""
    files_of("howto/sweep.md")
    command("run truncation.yaml --out out")
    command("results out --plots")
    shutil.copy("out/plots/sizes.svg", OUT / "sweep.svg")


def tune() -> None:
    """What each trial of the page's script gave."""
    files_of("howto/tune.md")
    found = search("truncation.yaml", "bad_pixels_nonocc", trials=20)
    figure = Figure((6, 3), layout="constrained")
    axes = figure.subplots()
    for state, marker in (("complete", "o"), ("pruned", "x")):
        own = [trial for trial in found.trials if trial.state == state]
        # What was given up was measured on some of the scenes.
        values = [np.mean(list(trial.scenes.values())) for trial in own]
        axes.scatter(
            [trial.number + 1 for trial in own],
            values,
            marker=marker,
            label={"pruned": "given up after the first scene"}.get(state, "on both scenes"),
        )
    complete = [
        (trial.number + 1, trial.value) for trial in found.trials if trial.value is not None
    ]
    axes.step(
        [n for n, _ in complete],
        np.minimum.accumulate([value for _, value in complete]),
        where="post",
        color="0.5",
        label="best so far",
    )
    axes.set(
        xlabel="trial", ylabel="bad visible pixels (%)", xticks=range(1, len(found.trials) + 1, 2)
    )
    axes.legend()
    keep(figure, "tune")


def measure() -> None:
    """Two maps beside each other, as `compare` draws them."""
    for name, method in (("mine", "sgm"), ("other", "window")):
        match = sf.load(method).pipeline(sf.load_scene("synthetic/planes"))
        write_disparity(f"{name}.pfm", match.disparity)
    command("compare mine.pfm other.pfm --scene synthetic/planes --out out")
    copied("out/comparison.png", "measure")


def extend() -> None:
    """The maps of a built-in cost and of the one that `stages --new` writes."""
    files_of("howto/extend.md")
    command("stages --new my_cost --slot matching_cost")
    found = sf.run("mine.yaml", maps=True)
    scene = sf.load_scene("synthetic/planes")
    keep(
        sf.show(scene, truth=scene.truth, **{r.axes["matching_cost"]: r.disparity for r in found}),
        "extend",
    )


def large_images() -> None:
    """A map that was matched in tiles, and by how much overlapping tiles differ."""
    tiled = {"include": "sgm", "scheme": {"use": "tiles", "size": 128, "overlap": 32}}
    match, scene = sf.load(tiled).pipeline(sf.load_scene("teddy")), sf.load_scene("teddy")
    figure = Figure((9, 2.9), layout="constrained")
    panels = figure.subplots(1, 3)
    drawn = (
        (scene.reference, "gray"),
        (match.disparity, "viridis"),
        (-np.asarray(match.confidence["tiles"]), "magma"),
    )
    titles = "image, and where tiles meet", "disparity (px)", "overlapping tiles differ by (px)"
    for axes, (picture, colours), title in zip(panels, drawn, titles, strict=True):
        image = axes.imshow(picture, colours)
        axes.set(title=title, xticks=[], yticks=[])
        if picture.ndim == 2:
            figure.colorbar(image, ax=axes)
    for length, line in zip(
        scene.reference.shape[:2], (panels[0].axhline, panels[0].axvline), strict=True
    ):
        parts = round(length / 128)
        for i in range(1, parts):
            line(length * i // parts, color="w", linewidth=0.7)
    keep(figure, "large_images")


def images() -> None:
    """A pair of which one photograph is turned, before and after `--rectify auto`."""
    scene = sf.load_scene("middlebury-v3/trainingQ/Adirondack")
    rows, columns = scene.reference.shape[:2]
    turn = cv2.getRotationMatrix2D((columns / 2, rows / 2), 4, 1)
    turned = cv2.warpAffine(scene.match, turn, (columns, rows), borderMode=cv2.BORDER_REPLICATE)
    straight = rectified_by_points(sf.Scene.from_images(scene.reference, turned, (0, 64)))
    figure = Figure((9, 1.9), layout="constrained")
    pairs = (scene.reference, turned), (straight.reference, straight.match)
    for axes, pair, title in zip(
        figure.subplots(1, 2), pairs, ("as they are", "rectified"), strict=True
    ):
        both = np.concatenate(pair, axis=1)
        axes.imshow(both)
        for row in range(60, both.shape[0], 90):
            axes.axhline(row, color="yellow", linewidth=0.8)
        axes.set(title=title, xticks=[], yticks=[])
    keep(figure, "images")


def performance() -> None:
    """The page's table of large images as a chart."""
    text = (DOCS / "performance.md").read_text(encoding="utf-8")
    rows = [
        line[2:-2].split(" | ")
        for line in text[text.index("| size, levels |") :].split("\n\n")[0].splitlines()[2:]
    ]
    sizes: dict[str, list[tuple[str, float]]] = {}
    for size, method, tiles, seconds, *_ in rows:
        if size.strip():
            sizes[size.strip()] = []
        if seconds.strip():
            tiled = ", tiles" * tiles.strip()[:1].isdigit()
            sizes[list(sizes)[-1]].append((method.strip("` ") + tiled, float(seconds)))
    figure = Figure((9, 4), layout="constrained")
    for axes, (size, own) in zip(
        figure.subplots(2, len(sizes) // 2).flat, sizes.items(), strict=True
    ):
        bars = axes.barh([method for method, _ in own][::-1], [value for _, value in own][::-1])
        axes.bar_label(bars, fmt="%.3g", padding=2)
        axes.margins(x=0.2)
        axes.set_title(f"{size} levels", fontsize=9)
        axes.set(xlabel="seconds")
    keep(figure, "performance")


def truth_free() -> None:
    """What `choose` draws."""
    command("choose --scene teddy --methods fast,sgm,census,window -o out")
    copied("out/comparison.png", "truth_free")


def tutorials() -> None:
    """What the page's Python shows last but one."""
    scene = sf.load_scene("synthetic/planes")
    method = sf.Pipeline(["absolute_difference", "box", "winner_take_all"])
    small = sf.load("window").pipeline.having(truncation=10, **{"aggregation.box.size": 5})
    keep(sf.show(scene, window=method(scene), small=small(scene), truth=scene.truth), "tutorials")


PICTURES = {
    function.__name__: function
    for function in (
        sweep,
        tune,
        measure,
        extend,
        large_images,
        images,
        performance,
        truth_free,
        tutorials,
    )
}


def main() -> None:
    """Draw all pictures, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(PICTURES)}; default: all"
    )
    OUT.mkdir(exist_ok=True)
    for name in parser.parse_args().names or PICTURES:
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            PICTURES[name]()
            os.chdir(DOCS)


if __name__ == "__main__":
    main()
