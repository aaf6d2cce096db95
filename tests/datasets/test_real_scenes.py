"""Scenes of the data sets, against naive readers and published counts."""

import naive_files
import numpy as np
import pytest

from stereo_framework.datasets import load_scene

# name: size, frames, reference, match, last disparity, border; the files of both truths, their scale and unknown grey
FACTS = {
    "middlebury2001/tsukuba": (
        (288, 384, 3),
        5,
        2,
        3,
        15,
        18,
        "truedisp.row3.col3.pgm",
        None,
        16,
        0,
    ),
    "middlebury2001/sawtooth": ((380, 434, 3), 9, 2, 6, 19, 10, "disp2.pgm", "disp6.pgm", 8, None),
    "middlebury2001/venus": ((383, 434, 3), 9, 2, 6, 19, 10, "disp2.pgm", "disp6.pgm", 8, None),
    "middlebury2001/map": ((216, 284), 2, 0, 1, 29, 10, "disp0.pgm", "disp1.pgm", 8, None),
    "middlebury2003/teddy": ((375, 450, 3), 2, 0, 1, 59, 0, "disp2.png", "disp6.png", 4, 0),
    "middlebury2003/cones": ((375, 450, 3), 3, 0, 2, 59, 0, "disp2.png", "disp6.png", 4, 0),
    "middlebury2005/Art": ((370, 463, 3), 2, 0, 1, 79, 0, "disp1.png", "disp5.png", 3, 0),
    "middlebury2005/Moebius": ((370, 463, 3), 2, 0, 1, 79, 0, "disp1.png", "disp5.png", 3, 0),
    "middlebury2006/Aloe": ((370, 427, 3), 2, 0, 1, 79, 0, "disp1.png", "disp5.png", 3, 0),
    "middlebury2006/Baby1": ((370, 413, 3), 2, 0, 1, 79, 0, "disp1.png", "disp5.png", 3, 0),
}

# name: rows and columns, last disparity, protocol, reduction
OTHERS = {
    "motorcycle/motorcycle": ((500, 741), 69, "taxonomy2002", 4),
    "kitti/training2012": ((370, 1226), 127, "kitti2012", 1),
}

V3 = (
    "Adirondack",
    "ArtL",
    "Jadeplant",
    "Motorcycle",
    "Piano",
    "Pipes",
    "Playroom",
    "PlaytableP",
    "Recycle",
    "Vintage",
)

# name: scale of the truth, pixels of nonocc, all, disc
MASKS = {
    "tsukuba": (16, 85438, 87696, 15790),
    "venus": (8, 147513, 150282, 10540),
    "teddy": (4, 147651, 165344, 40517),
    "cones": (4, 143926, 163321, 47189),
}


def grey(path):
    samples = naive_files.samples(path)
    return samples if samples.ndim == 2 else samples[..., 0]


def in_pixels(path, scale, unknown):
    return np.where(grey(path) == unknown, np.nan, grey(path) / scale).astype(np.float32)


def assert_truth_aligns(scene):
    """The truth is a disparity of this pair: it makes the two images agree far better than no shift or its opposite does."""
    truth, columns = np.nan_to_num(scene.truth), np.arange(scene.truth.shape[1])
    left, right = scene.reference.astype(float), scene.match.astype(float)
    valid = np.isfinite(scene.truth) & (columns - truth >= 0) & (columns + truth < columns.size)

    def difference(shift):
        seen = np.rint(columns - shift).astype(int).clip(0, columns.size - 1)
        return np.median(abs(left - right[np.arange(len(left))[:, None], seen])[valid])

    assert difference(truth) < 0.6 * min(difference(0 * truth), difference(-truth))


@pytest.mark.parametrize("name", FACTS)
def test_frames_search_and_truths(data, name):
    scene = load_scene(name, data=data)
    size, frames, reference, match, last, border, truth, match_truth, scale, unknown = FACTS[name]
    assert (scene.name, scene.protocol, scene.border, scene.weight) == (
        name,
        "taxonomy2002",
        border,
        1,
    )
    assert (len(scene.frames), scene.reference_index, scene.match_index) == (
        frames,
        reference,
        match,
    )
    assert (str(scene.search), scene.direction) == (f"0..{last} step 1", 1)
    assert scene.match.shape == size
    assert all(scene.image(i).shape == size for i in range(frames))
    np.testing.assert_array_equal(
        scene.truth, in_pixels(data / name / truth, scale, unknown), strict=True
    )
    assert_truth_aligns(scene)
    # a corner of venus lies at 19.75, beyond the last level of the paper's range but within the pixel that starts there
    assert (
        scene.search.minimum
        <= np.nanmin(scene.truth)
        <= np.nanmax(scene.truth)
        < scene.search.maximum + 1
    )
    if match_truth is None:
        assert scene.match_truth is None
        return
    np.testing.assert_array_equal(
        scene.match_truth, in_pixels(data / name / match_truth, scale, unknown)
    )
    # both truths describe the same surfaces: most pixels return to where they came from, and the rest is half-occluded
    there = np.rint(np.arange(size[1]) - np.nan_to_num(scene.truth)).astype(int)
    back = scene.match_truth[np.arange(size[0])[:, None], there.clip(0)]
    known = np.isfinite(scene.truth) & (there >= 0) & np.isfinite(back)
    assert (abs(back - scene.truth)[known] < 1.01).mean() > 0.75
    assert np.median(abs(back - scene.truth)[known]) <= 1 / 3


@pytest.mark.parametrize("name", MASKS)
def test_version_2_masks(data, name):
    scene, images = (load_scene(one, data=data) for one in (f"middlebury-v2/{name}", name))
    scale, *pixels = MASKS[name]
    assert (scene.border, scene.protocol, scene.search) == (0, "middlebury-v2", images.search)
    folder = data / "middlebury-v2" / "masks" / name
    for mask, count in zip(("nonocc", "all", "disc"), pixels, strict=True):
        assert scene.mask(mask).sum() == count
        np.testing.assert_array_equal(scene.mask(mask), grey(folder / f"{mask}.png") == 255)
    np.testing.assert_array_equal(scene.truth, in_pixels(folder / "groundtruth.png", scale, 0))
    # every counted pixel has a truth, except where the benchmark's own files disagree
    assert np.isfinite(scene.truth[scene.mask("nonocc")]).mean() > 0.999
    np.testing.assert_array_equal(scene.reference, images.reference)
    np.testing.assert_array_equal(scene.match, images.match)


@pytest.mark.parametrize("name", OTHERS)
def test_other_pairs(data, name):
    size, last, protocol, reduction = OTHERS[name]
    scene = load_scene(name, data=data)
    assert scene.reference.shape[:2] == scene.truth.shape == size
    assert (scene.search.minimum, scene.search.maximum, scene.direction) == (0, last, 1)
    assert (scene.protocol, scene.reduction, scene.border, scene.weight) == (
        protocol,
        reduction,
        0,
        1,
    )
    assert 0 < np.nanmin(scene.truth) < np.nanmax(scene.truth) < last
    assert_truth_aligns(scene)


@pytest.mark.parametrize("name", V3)
def test_version_3(data, name):
    scene = load_scene(f"middlebury-v3/trainingQ/{name}", data=data)
    assert (scene.protocol, scene.reduction, scene.border, scene.whole_truth) == (
        "middlebury-v3",
        4,
        0,
        False,
    )
    assert scene.weight == (0.5 if name in ("Playroom", "Vintage") else 1)
    assert scene.largest_disparity == scene.search.maximum + 1
    assert 0 < np.nanmin(scene.truth) < np.nanmax(scene.truth) < scene.search.maximum
    assert_truth_aligns(scene)
    # Pixels that the benchmark calls non-occluded have a truth, and their matches lie inside the
    # match image.
    nonocc = scene.mask("nonocc")
    assert 0.5 < nonocc.mean() < 0.95
    assert np.isfinite(scene.truth[nonocc]).all()
    assert (np.arange(nonocc.shape[1]) - np.nan_to_num(scene.truth) >= -1)[nonocc].all()


def test_two_sizes_of_one_scene_agree(data):
    third = load_scene("middlebury2005/Art", data=data)
    quarter = load_scene("middlebury-v3/trainingQ/ArtL", data=data)
    # the same camera: what 2005's publisher states in full-size pixels and mm
    assert quarter.calibration.focal_length * quarter.reduction == 3740
    assert quarter.calibration.baseline == 160
    # the same surfaces, in full-size pixels
    rows, columns = np.indices(quarter.truth.shape) * 4 // 3
    difference = third.reduction * third.truth[rows, columns] - quarter.reduction * quarter.truth
    assert abs(np.nanmedian(difference)) < 1  # one grey level of the map of third size
    assert np.nanmean(abs(difference) < 4) > 0.9  # the rest lies at edges
