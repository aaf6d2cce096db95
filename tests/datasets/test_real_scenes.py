"""Scenes of the data sets, against naive readers and published counts."""

import naive_files
import numpy as np
import pytest

from stereo_framework.datasets import load_scene

SIZES = {
    "middlebury2001/tsukuba": (288, 384, 3),
    "middlebury2001/sawtooth": (380, 434, 3),
    "middlebury2001/venus": (383, 434, 3),
    "middlebury2001/map": (216, 284),
    "middlebury2003/teddy": (375, 450, 3),
    "middlebury2003/cones": (375, 450, 3),
}

V3 = ("Adirondack", "ArtL", "Jadeplant", "Motorcycle", "Piano", "Pipes", "Playroom", "PlaytableP", "Recycle", "Vintage")

# name: rows and columns, last disparity, protocol, reduction
OTHERS = {
    "middlebury2005/Art": ((370, 463), 79, "taxonomy2002", 3),
    "middlebury2005/Moebius": ((370, 463), 79, "taxonomy2002", 3),
    "middlebury2006/Aloe": ((370, 427), 79, "taxonomy2002", 3),
    "middlebury2006/Baby1": ((370, 413), 79, "taxonomy2002", 3),
    "motorcycle/motorcycle": ((500, 741), 69, "taxonomy2002", 4),
    "kitti/training2012": ((370, 1226), 127, "kitti2012", 1),
}

# name: frames, reference, match, search, border, then file of the truth, its scale and unknown grey
FACTS = {
    "middlebury2001/tsukuba": (5, 2, 3, "0..15 step 1", 18, "truedisp.row3.col3.pgm", 16, 0),
    "middlebury2001/sawtooth": (9, 2, 6, "0..19 step 1", 10, "disp2.pgm", 8, None),
    "middlebury2001/venus": (9, 2, 6, "0..19 step 1", 10, "disp2.pgm", 8, None),
    "middlebury2001/map": (2, 0, 1, "0..29 step 1", 10, "disp0.pgm", 8, None),
    "middlebury2003/teddy": (2, 0, 1, "0..59 step 1", 0, "disp2.png", 4, 0),
    "middlebury2003/cones": (3, 0, 2, "0..59 step 1", 0, "disp2.png", 4, 0),
}

MATCH_TRUTHS = {
    "middlebury2001/sawtooth": ("disp6.pgm", 8, None),
    "middlebury2001/venus": ("disp6.pgm", 8, None),
    "middlebury2001/map": ("disp1.pgm", 8, None),
    "middlebury2003/teddy": ("disp6.png", 4, 0),
    "middlebury2003/cones": ("disp6.png", 4, 0),
}

MASK_PIXELS = {  # nonocc, all, disc
    "tsukuba": (85438, 87696, 15790),
    "venus": (147513, 150282, 10540),
    "teddy": (147651, 165344, 40517),
    "cones": (143926, 163321, 47189),
}


def naive(path):
    return naive_files.samples(path)


def in_pixels(path, scale, unknown):
    grey = naive(path)
    grey = grey if grey.ndim == 2 else grey[..., 0]
    return np.where(grey == unknown, np.nan, grey / scale).astype(np.float32)


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
def test_frames_search_and_truth(data, name):
    scene = load_scene(name, data=data)
    frames, reference, match, search, border, truth, scale, unknown = FACTS[name]
    assert scene.name == name
    assert (len(scene.frames), scene.reference_index, scene.match_index) == (frames, reference, match)
    assert (str(scene.search), scene.direction, scene.border, scene.protocol) == (search, 1, border, "taxonomy2002")
    assert scene.reference.shape == scene.match.shape == SIZES[name]
    assert all(scene.image(i).shape == SIZES[name] for i in range(frames))
    np.testing.assert_array_equal(scene.truth, in_pixels(data / name / truth, scale, unknown))
    assert scene.truth.dtype == np.float32
    assert_truth_aligns(scene)
    # a corner of venus lies at 19.75, beyond the last level of the paper's range but within the pixel that starts there
    assert scene.search.minimum <= np.nanmin(scene.truth) <= np.nanmax(scene.truth) < scene.search.maximum + 1


@pytest.mark.parametrize("name", FACTS)
def test_truth_of_the_match_frame(data, name):
    scene = load_scene(name, data=data)
    if name not in MATCH_TRUTHS:
        assert scene.match_truth is None
        return
    file, scale, unknown = MATCH_TRUTHS[name]
    np.testing.assert_array_equal(scene.match_truth, in_pixels(data / name / file, scale, unknown))
    # both truths describe the same surfaces: most pixels return to where they came from
    columns = np.arange(SIZES[name][1])
    there = np.rint(columns - np.nan_to_num(scene.truth)).astype(int)
    back = scene.match_truth[np.arange(len(there))[:, None], there.clip(0)]
    known = np.isfinite(scene.truth) & (there >= 0) & np.isfinite(back)
    assert (abs(back - scene.truth)[known] < 1.01).mean() > 0.8


@pytest.mark.parametrize("name", MASK_PIXELS)
def test_version_2_masks(data, name):
    scene = load_scene(f"middlebury-v2/{name}", data=data)
    assert (scene.border, scene.protocol) == (0, "middlebury-v2")
    assert tuple(int(scene.mask(mask).sum()) for mask in ("nonocc", "all", "disc")) == MASK_PIXELS[name]
    folder = data / "middlebury-v2" / "masks" / name
    for mask in ("nonocc", "all", "disc"):
        samples = naive(folder / f"{mask}.png")
        np.testing.assert_array_equal(scene.mask(mask), (samples if samples.ndim == 2 else samples[..., 0]) == 255)
    scale = {"tsukuba": 16, "venus": 8, "teddy": 4, "cones": 4}[name]
    np.testing.assert_array_equal(scene.truth, in_pixels(folder / "groundtruth.png", scale, 0))
    # every counted pixel has a truth, except where the benchmark's own files disagree
    assert np.isfinite(scene.truth[scene.mask("nonocc")]).mean() > 0.999
    images = load_scene(name, data=data)
    np.testing.assert_array_equal(scene.reference, images.reference)
    np.testing.assert_array_equal(scene.match, images.match)
    assert scene.search == images.search


@pytest.mark.parametrize("name", OTHERS)
def test_other_pairs(data, name):
    size, last, protocol, reduction = OTHERS[name]
    scene = load_scene(name, data=data)
    assert scene.reference.shape[:2] == scene.truth.shape == size
    assert (scene.search.minimum, scene.search.maximum, scene.direction) == (0, last, 1)
    assert (scene.protocol, scene.reduction, scene.border, scene.weight) == (protocol, reduction, 0, 1)
    assert 0 < np.nanmin(scene.truth) < np.nanmax(scene.truth) < last
    assert_truth_aligns(scene)


@pytest.mark.parametrize("name", [name for name in OTHERS if "middlebury" in name])
def test_truths_of_2005_and_2006(data, name):
    scene = load_scene(name, data=data)
    np.testing.assert_array_equal(scene.truth, in_pixels(data / name / "disp1.png", 3, 0))
    np.testing.assert_array_equal(scene.match_truth, in_pixels(data / name / "disp5.png", 3, 0))
    columns = np.arange(scene.truth.shape[1])
    there = np.rint(columns - np.nan_to_num(scene.truth)).astype(int)
    back = scene.match_truth[np.arange(len(there))[:, None], there.clip(0)]
    known = np.isfinite(scene.truth) & (there >= 0) & np.isfinite(back)
    # the remainder is half-occluded
    assert np.median(abs(back - scene.truth)[known]) <= 1 / 3
    assert (abs(back - scene.truth)[known] < 1.01).mean() > 0.75


@pytest.mark.parametrize("name", V3)
def test_version_3(data, name):
    scene = load_scene(f"middlebury-v3/trainingQ/{name}", data=data)
    assert (scene.protocol, scene.reduction, scene.border, scene.whole_truth) == ("middlebury-v3", 4, 0, False)
    assert scene.weight == (0.5 if name in ("Playroom", "Vintage") else 1)
    assert scene.largest_disparity == scene.search.maximum + 1
    assert 0 < np.nanmin(scene.truth) < np.nanmax(scene.truth) < scene.search.maximum
    assert_truth_aligns(scene)
    # what the benchmark calls visible has a truth, and its match lies inside the other image
    visible = scene.mask("nonocc")
    assert 0.5 < visible.mean() < 0.95
    assert np.isfinite(scene.truth[visible]).all()
    assert (np.arange(visible.shape[1]) - np.nan_to_num(scene.truth) >= -1)[visible].all()


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
