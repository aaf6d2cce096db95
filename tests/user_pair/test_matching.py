"""The everyday function: two images in, a map and what follows from it out."""

import dataclasses

import numpy as np
import pytest
from naive_files import read_ply

import stereo_framework
from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.core.scene import Calibration, Scene
from stereo_framework.core.volume import Status
from stereo_framework.io import read_disparity, read_grey, read_pfm, write_image
from stereo_framework.io.output_folders import RECORD
from stereo_framework.kernels.progress import reporting_steps_to


@pytest.fixture(scope="module")
def found(known):
    return stereo_framework.match(
        known.reference,
        known.match,
        (0, 31),
        calibration=Calibration(400, 0.1, 2.0, (150, 110)),
        method="ssd",
    )


def test_arrays(known, found):
    by_run = stereo_framework.run("ssd", scenes=known)[0].disparity
    np.testing.assert_array_equal(found.disparity, by_run)
    assert found.status.dtype == np.uint8
    assert found.confidence.shape == found.disparity.shape
    assert (found.search.minimum, found.search.maximum, found.origin, found.method) == (
        0,
        31,
        "given",
        "ssd",
    )
    assert found.seconds > 0
    # Most of what both views agree about is right.
    error = np.abs(found.disparity - known.truth) > 1
    assert error[found.sure].mean() < error[~found.sure].mean() / 2


def test_depth_and_points(known, found):
    np.testing.assert_allclose(found.depth() * (found.disparity + 2), 400 * 0.1, rtol=1e-6)
    place, colour = found.points()
    assert len(place) == found.sure.sum()
    y, x = np.nonzero(found.sure)
    # A point is seen where it came from.
    np.testing.assert_allclose(400 * place[:, 0] / place[:, 2] + 150, x, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(400 * place[:, 1] / place[:, 2] + 110, y, rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(colour, known.reference[y, x])


def test_files(found, tmp_path):
    names = found.save(tmp_path / "a")
    assert {*names, RECORD} == {path.name for path in (tmp_path / "a").iterdir()}
    np.testing.assert_array_equal(read_disparity(tmp_path / "a" / "disparity.pfm"), found.disparity)
    # Rounded to 1/256 pixel; 0, which means unknown, becomes 1/256.
    np.testing.assert_allclose(
        read_disparity(tmp_path / "a" / "disparity.png"), found.disparity, atol=1 / 256
    )
    np.testing.assert_array_equal(read_pfm(tmp_path / "a" / "confidence.pfm"), found.confidence)
    np.testing.assert_array_equal(read_disparity(tmp_path / "a" / "depth.tiff"), found.depth())
    assert (
        (read_grey(tmp_path / "a" / "status.png") == 255) == (found.status == Status.MATCHED)
    ).all()
    assert len(read_ply(tmp_path / "a" / "points.ply")) == len(found.points().position)


def test_measures_of_the_method_are_written(known, tmp_path):
    method = {"include": "census", "confidence": ["peak_ratio"]}
    found = stereo_framework.match(known.reference, known.match, (0, 20), method=method)
    assert "confidence_peak_ratio.pfm" in found.save(tmp_path)
    np.testing.assert_array_equal(
        read_pfm(tmp_path / "confidence_peak_ratio.pfm"), found.result.confidence["peak_ratio"]
    )
    np.testing.assert_array_equal(read_pfm(tmp_path / "confidence.pfm"), found.confidence)


@pytest.mark.parametrize(("value", "written"), [(-0.25, 1 / 256), (-1.5, None), (256, None)])
def test_what_does_not_fit_16_bits_is_left_out_unless_smoothing_took_it_below_0(
    found, tmp_path, value, written
):
    disparity = found.disparity.copy()
    disparity[3, 4] = value
    matched = dataclasses.replace(
        found, result=dataclasses.replace(found.result, disparity=disparity)
    )
    assert ("disparity.png" in matched.save(tmp_path)) == (written is not None)
    # Grey 0 means no estimate, so that 0 is written as 1/256.
    assert written is None or read_disparity(tmp_path / "disparity.png")[3, 4] == written
    assert read_disparity(tmp_path / "disparity.pfm")[3, 4] == value


def test_files_and_ranges(known, tmp_path):
    write_image(tmp_path / "l.png", known.reference)
    write_image(tmp_path / "r.png", known.match)
    calibration = tmp_path / "of_the_pair.txt"
    calibration.write_text(
        "cam0=[400 0 100; 0 400 70; 0 0 1]\ncam1=[400 0 102; 0 400 70; 0 0 1]\ndoffs=2\nbaseline=100\nwidth=192\nheight=144\nndisp=33\n"
    )
    doing = []
    with reporting_steps_to(doing.append):
        found = stereo_framework.match(
            tmp_path / "l.png", tmp_path / "r.png", calibration=calibration, method="ssd"
        )
    assert (found.search.maximum, found.origin, found.name) == (32, "from the calibration", "l")
    assert {"sparse matches", "squared_difference"} <= {one.rpartition(": ")[2] for one in doing}
    assert found.depth().shape == (144, 192)
    estimated = stereo_framework.match(tmp_path / "l.png", tmp_path / "r.png", method="ssd")
    assert estimated.origin.startswith("estimated from ")
    assert estimated.scene.search is None
    # A calib.txt beside the left image is found.
    calibration.rename(tmp_path / "calib.txt")
    beside = stereo_framework.match(tmp_path / "l.png", tmp_path / "r.png", method="ssd")
    assert (beside.search.maximum, beside.origin) == (32, "from the calibration")
    # Whoever asks for an estimate gets one.
    auto = stereo_framework.match(
        tmp_path / "l.png",
        tmp_path / "r.png",
        "auto",
        calibration=tmp_path / "calib.txt",
        method="ssd",
    )
    assert (auto.search, auto.origin) == (estimated.search, estimated.origin)
    truth = known.truth[np.isfinite(known.truth)]
    assert np.mean((truth >= estimated.search.minimum) & (truth <= estimated.search.maximum)) > 0.99


def test_a_whole_matcher_has_a_confidence_too(known):
    found = stereo_framework.match(known.reference, known.match, (0, 31), method="sgbm")
    assert 0.3 < found.sure.mean() < 1


def test_mistakes(known):
    left, right = known.reference, known.match
    with pytest.raises(ParameterError, match="one is an array and one is a file"):
        stereo_framework.match(left, "right.png")
    with pytest.raises(
        ParameterError,
        match="rectify computes the calibration of the rectified pair; leave out the other one",
    ):
        stereo_framework.match(left, right, (0, 31), calibration=(3, 1), rectify="auto")
    with pytest.raises(
        ParameterError,
        match="^match: left is .*; expected the path of an image, or an image as a numpy array$",
    ):
        stereo_framework.match(left.tolist(), right.tolist())
    with pytest.raises(
        ParameterError,
        match=r"^match: disparities is 31; expected a SearchRange, such as SearchRange\(0, 63\), or its two ends",
    ):
        stereo_framework.match(left, right, 31)
    with pytest.raises(
        ParameterError,
        match="^match: method is 3; expected a file, the name of a built-in script, a mapping or a Setting$",
    ):
        stereo_framework.match(left, right, (0, 31), method=3)
    two = {"include": "window", "sweep": {"grid": {"aggregation.box.size": [3, 5]}}}
    with pytest.raises(ParameterError, match="the script has 2 settings; expected one setting"):
        stereo_framework.match(left, right, (0, 31), method=two)
    with pytest.raises(
        DataError,
        match="left is 192x144 .* and right is 180x144 .*; both images must have the same size",
    ):
        stereo_framework.match(left, right[:, :180], (0, 31))
    with pytest.raises(DataError, match="depth needs a calibration"):
        _ = stereo_framework.match(left, right, (0, 31), method="ssd").depth()


@pytest.fixture(name="matched")
def _matched(found):
    """Return a function that makes results of one row of disparities."""

    def make(disparity, confidence, calibration=None):
        values = np.float32([disparity])
        image = np.zeros(values.shape, np.uint8)
        scene = Scene.from_images(image, image, (0, 9))
        estimate = dataclasses.replace(
            found.result,
            disparity=values,
            status=np.zeros(values.shape, np.uint8),
            confidence={"left_right_consistency": np.float32([confidence])},
        )
        scene = dataclasses.replace(scene, calibration=calibration)
        return dataclasses.replace(found, scene=scene, result=estimate)

    return make


def test_views_that_differ_by_exactly_a_pixel_agree(matched):
    result = matched([3, 3, 3, np.nan], [0, -1, -1.0625, 0])
    assert result.sure.tolist() == [[True, True, False, False]]


def test_without_a_principal_point_the_middle_of_the_image_is_the_axis(matched):
    calibration = Calibration(focal_length=10.0, baseline=2.0, doffs=0.0)
    result = matched([4] * 5, [0] * 5, calibration)
    # The middle of five columns is column 2; the depth is 10 * 2 / 4 = 5.
    assert result.points().position.tolist() == [[x / 2, 0, 5] for x in (-2, -1, 0, 1, 2)]


def test_a_shifted_disparity_of_zero_has_no_depth(matched):
    calibration = Calibration(focal_length=10.0, baseline=2.0, doffs=-1.0)
    result = matched([3, 1, 0, np.nan], [0] * 4, calibration)
    np.testing.assert_array_equal(result.depth(), [[10, np.nan, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("value", "is_written"), [(-0.99, True), (-1, False), (255.99609375, True), (255.9999, False)]
)
def test_a_picture_of_16_bits_is_written_for_disparities_that_it_holds(
    matched, tmp_path, value, is_written
):
    names = matched([3, value], [0, 0]).save(tmp_path)
    assert ("disparity.png" in names) == is_written
