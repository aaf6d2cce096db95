"""Draw the pictures of docs/methods, each from the script beside it: ``python scripts/method_pictures.py [PAGE ...]``.

The maps of a script's settings stand side by side, below each its errors; the scenes are synthetic.
"""

import argparse
from pathlib import Path

from PIL import Image

from stereo_framework import load_scene, run
from stereo_framework.core.parameters import as_yaml
from stereo_framework.figures.disparity_figures import write_comparison
from stereo_framework.sweep.result import Result

PICTURES = Path(__file__).parents[1] / "docs" / "images" / "methods"


def name(result: Result, several: bool) -> str:
    """The title of a map: the swept parameters, preceded by the method if the script has several."""
    swept = [
        v if isinstance(v, str) else f"{k.rpartition('.')[2]}={as_yaml(v)}"
        for k, v in result.axes.items()
    ]
    return ": ".join(text for text in (result.method if several else "", ", ".join(swept)) if text)


def draw(script: Path) -> None:
    """Write the picture of a script."""
    results = run(script, maps=True)
    several = len({r.method for r in results}) > 1
    maps = {name(r, several): r.disparity for r in results if r.disparity is not None}
    [scene] = {r.scene for r in results}
    path = script.with_suffix(".png")
    write_comparison(path, maps, load_scene(scene))
    # A palette takes a fifth of the space; chosen like this its colours are off by some 15 levels at most, of red, green or blue.
    picture = (
        Image.open(path)
        .convert("RGB")
        .quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    )
    picture.save(path, optimize=True)


def main() -> None:
    """Draw all pictures, or those of some pages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", help="such as stable_matching; default: all")
    wanted = parser.parse_args().pages
    for script in sorted(PICTURES.glob("*.yaml")):
        if not wanted or script.stem in wanted:
            draw(script)


if __name__ == "__main__":
    main()
