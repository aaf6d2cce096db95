"""The Middlebury sets of 2005 and 2006.

2005: Art, Books, Dolls, Laundry, Moebius and Reindeer; without truth: Computer, Drumsticks and Dwarves. 2006: Aloe, Baby1 .. 3, Bowling1 and 2,
Cloth1 .. 4 and eleven more. Cite Scharstein & Pal 2007; Hirschmueller & Scharstein 2007.

There are seven views, view0.png .. view6.png, in steps of 40 mm; the reference is view1, the match view5, and both have a truth.
There are three sizes: full (1110 rows), half and a third; a scene directly below the data set's folder is of third size,
as are those below ``ThirdSize``; ``HalfSize`` and ``FullSize`` hold the others, as on the publisher's site.
Where a download holds all illuminations and exposures, each is a scene of its own: ``Aloe/Illum1/Exp0``.

Grey values of the truth are full-size pixels, so disparities are grey / 3, / 2 and / 1; 0 = unknown. They fit the images as
they are. ``dmin.txt`` holds, in full-size pixels, how much the cropping of the images reduced every disparity: it is only needed for
depths (`doffs`). Focal length, 3740 full-size pixels, and baseline, 160 mm, are those of the publisher's page; the
calibration of the scene ArtL of the third benchmark, the same images, agrees.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from stereo_framework.core.errors import DataError
from stereo_framework.core.scene import Calibration, Disparity, Scene, Search
from stereo_framework.datasets.dataset import dataset, frames_of, truths_of
from stereo_framework.io import read_bytes, read_disparity

_SIZES = {"": 3, "ThirdSize/": 3, "HalfSize/": 2, "FullSize/": 1}
"""How many times smaller than full size a scene is, by the folder in which it lies."""
_FULL_ROWS = 1110
_FULL_SEARCH = 240
"""Number of disparities searched, in full-size pixels; it corresponds to the 80 that studies on these sets use in third size."""


def _names(folder: Path) -> list[str]:
    """Names of the scenes, ``Art`` or ``HalfSize/Art``."""
    return [f"{size}{name}" for size in _SIZES for name in _in_one_size(folder / size)]


@dataset("middlebury2005", names=_names)
@dataset("middlebury2006", names=_names)
def structured_light(folder: Path, name: str) -> Scene:
    """A scene by its name; its files are read on first use."""
    reduction = _SIZES.get(name.partition("/")[0] + "/", 3)
    images = folder / name
    scene = images.parents[1] if images.parent.name.startswith("Illum") else images
    views = [i for i in range(7) if i in (1, 5) or (images / f"view{i}.png").is_file()]
    reference, match = views.index(1), views.index(5)
    truths = {(reference, match): scene / "disp1.png", (match, reference): scene / "disp5.png"}
    return Scene(
        name,
        frames_of(images, {i: f"view{i}.png" for i in views}),
        reference,
        match,
        Search(0, _FULL_SEARCH // reduction - 1),
        truths_of(truths, partial(_truth, reduction=reduction)),
        calibration=_calibration(scene / "dmin.txt", reduction),
        reduction=reduction,
        grey_levels=reduction,
    )


def _in_one_size(folder: Path) -> list[str]:
    views = [*folder.glob("*/view1.png"), *folder.glob("*/Illum*/Exp*/view1.png")]
    return sorted(view.parent.relative_to(folder).as_posix() for view in views)


def _truth(file: Path, reduction: int) -> Disparity:
    truth = read_disparity(file, scale=reduction)
    # In the folder of another size every disparity would be wrong by a factor, without any other sign of it.
    if len(truth) != _FULL_ROWS // reduction:
        raise DataError(
            f"{file}: has {len(truth)} rows; expected {_FULL_ROWS // reduction} in this folder, for the third size has 370 rows, "
            "HalfSize 555, FullSize 1110"
        )
    return truth


def _calibration(file: Path, reduction: int) -> Calibration | None:
    if not file.is_file():
        return None
    text = read_bytes(file)[:40].decode("latin-1").strip()
    try:
        dmin = int(text)
    except ValueError:
        raise DataError(f"{file}: {text!r} is not a whole number of pixels") from None
    return Calibration(3740 / reduction, 160.0, dmin / reduction)
