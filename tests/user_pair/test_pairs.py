"""Which image files belong together."""

import re
from pathlib import Path

import pytest

from stereo_framework.core.errors import DataError, ParameterError
from stereo_framework.user_pair.pairs import check_mask_order, pairs


@pytest.fixture
def files(tmp_path):
    def make(*names):
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        return tmp_path

    return make


def names(found):
    return {name: tuple("/".join(path.parts[-2:]) for path in pair) for name, pair in found.items()}


def test_two_files_are_not_looked_at():
    assert {name: tuple(map(str, pair)) for name, pair in pairs("a/l.png", "b/r.png").items()} == {
        "l": ("a/l.png", "b/r.png")
    }


def test_equal_names_belong_together(files):
    root = files("l/b.png", "l/a.png", "l/notes.txt", "r/a.png", "r/b.png")
    expected = {"a": ("l/a.png", "r/a.png"), "b": ("l/b.png", "r/b.png")}
    assert names(pairs(str(root / "l"), str(root / "r"))) == expected
    assert list(pairs(str(root / "l"), str(root / "r"))) == ["a", "b"]


def test_names_that_differ_in_the_word_for_the_side_belong_together(files):
    root = files("s/x_left.png", "s/y_left.png", "s/x_right.png", "s/y_right.png")
    expected = {
        "x_left": ("s/x_left.png", "s/x_right.png"),
        "y_left": ("s/y_left.png", "s/y_right.png"),
    }
    assert names(pairs(str(root / "s" / "*_left.png"), str(root / "s" / "*_right.png"))) == expected


def test_mistakes(files):
    root = files("l/a.png", "l/b.png", "r/a.png", "o/x.png", "empty/notes.txt")
    for left, right, said in (
        ("l", "r", r"only one of them has b.png \(1 such files\)"),
        (
            "l",
            "o",
            "the names do not show which images belong together, such as a.png and x.png; give both files",
        ),
        ("l", "empty", "empty: no images there; allowed endings: .png"),
        ("l", "r/a.png", "one is a file and one is a folder"),
    ):
        with pytest.raises(DataError, match=said):
            pairs(str(root / left), str(root / right))


def make_sides(files, left_names, right_names):
    root = files(
        *(f"left/{name}.png" for name in left_names), *(f"right/{name}.png" for name in right_names)
    )
    return str(root / "left"), str(root / "right")


@pytest.mark.parametrize(
    ("left_names", "right_names"),
    [
        (["left_1", "left_2", "left_10"], ["right_01", "right_02", "right_10"]),
        (["1_L", "2_L"], ["1_R", "2_R"]),
        (["Left_10", "Left_11", "Left_12"], ["RIGHT_10", "RIGHT_11", "RIGHT_12"]),
        (["cam0_0007", "cam0_0008"], ["cam1_0007", "cam1_0008"]),
        (["a_im0", "b_im0"], ["a_im1", "b_im1"]),
        (["day left 1", "day left 2"], ["day-right-2", "day-right-1"]),
        (["im0"], ["im1"]),
        (["left"], ["right"]),
        (["左_3", "左_4"], ["右_3", "右_4"]),
    ],
)
def test_words_and_numbers_pair_names_that_differ(files, left_names, right_names):
    found = pairs(*make_sides(files, left_names, right_names))
    assert list(found) == left_names
    assert {path.stem for _, path in found.values()} == set(right_names)
    for left, right in found.values():
        left_numbers, right_numbers = (
            re.findall(r"[1-9]\d*", re.sub(r"cam\d|im\d", "", path.stem)) for path in (left, right)
        )
        assert left_numbers == right_numbers


@pytest.mark.parametrize(
    ("left_names", "right_names", "message"),
    [
        # Each camera lost a frame, so the counts are equal.
        (
            ["left_1", "left_2", "left_4", "left_5"],
            ["right_1", "right_2", "right_3", "right_5"],
            "left_4.png, right_3.png .2 such",
        ),
        (
            ["left_1", "left_2", "left_3"],
            ["right_1", "right_2"],
            "only one of them has left_3.png .1 such files.",
        ),
        (
            ["left_10", "left_11", "left_12"],
            ["right_20", "right_21", "right_22"],
            "left_10.png and right_20.png; give both",
        ),
        (
            ["left_7"],
            ["right_8"],
            "left_7.png and right_8.png; give both files of a pair the same name or the same number",
        ),
        (["DSC_0001"], ["DSC_0002"], "do not show which images belong together"),
        (
            ["left_1", "left_01"],
            ["right_1", "right_2"],
            "left: left_0?1.png and left_0?1.png have the same words and numbers",
        ),
    ],
)
def test_images_without_a_partner_are_refused(files, left_names, right_names, message):
    with pytest.raises(DataError, match=message):
        pairs(*make_sides(files, left_names, right_names))


def test_single_images_of_patterns_over_folders_are_paired_by_their_folders(files):
    root = files("one/left.png", "two/right.png")
    with pytest.raises(DataError, match="do not show which images belong together"):
        pairs(str(root / "*" / "left.png"), str(root / "*" / "right.png"))


def test_pairs_are_ordered_by_the_size_of_their_numbers(files):
    found = pairs(*make_sides(files, ["f1", "f10", "f9"], ["f9", "f10", "f1"]))
    assert list(found) == ["f1", "f9", "f10"]


@pytest.mark.parametrize(
    "names",
    [[], ["mask.png"], ["left_mask.png", "right_mask.png"], ["left_right.png"], ["a.png", "b.png"]],
)
def test_masks_in_order_are_taken(names):
    check_mask_order([Path(name) for name in names])


@pytest.mark.parametrize(
    "names", [["right_mask.png"], ["right.png", "left.png"], ["mask.png", "mask-left.png"]]
)
def test_masks_of_the_other_image_are_refused(names):
    with pytest.raises(
        ParameterError,
        match="give the mask of the left image first and that of the right image second",
    ):
        check_mask_order([Path(name) for name in names])
