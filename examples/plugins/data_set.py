"""A data set: the scenes in the folder of this name below a data root."""

import stereo_framework as sf


def names(folder):
    """The names of all scenes: folders with a left image."""
    return sorted(path.parent.name for path in folder.glob("*/left.png"))


@sf.dataset("mine", names=names, protocol="middlebury-v3")
def mine(folder, name):
    """A scene: two images, the range to search in pixels, and truth where there is some."""
    place = folder / name
    truth = place / "truth.pfm"
    return sf.pair_scene(
        place / "left.png", place / "right.png", (0, 64), truth=truth if truth.is_file() else None
    )
