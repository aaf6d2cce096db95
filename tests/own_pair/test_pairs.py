"""Which image files belong together."""

import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.own_pair.pairs import pairs


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
    assert {name: tuple(map(str, pair)) for name, pair in pairs("a/l.png", "b/r.png").items()} == {"l": ("a/l.png", "b/r.png")}


def test_equal_names_belong_together(files):
    root = files("l/b.png", "l/a.png", "l/notes.txt", "r/a.png", "r/b.png")
    expected = {"a": ("l/a.png", "r/a.png"), "b": ("l/b.png", "r/b.png")}
    assert names(pairs(str(root / "l"), str(root / "r"))) == expected
    assert list(pairs(str(root / "l"), str(root / "r"))) == ["a", "b"]


def test_else_their_order_counts(files):
    root = files("s/x_left.png", "s/y_left.png", "s/x_right.png", "s/y_right.png")
    expected = {"x_left": ("s/x_left.png", "s/x_right.png"), "y_left": ("s/y_left.png", "s/y_right.png")}
    assert names(pairs(str(root / "s" / "*_left.png"), str(root / "s" / "*_right.png"))) == expected


def test_mistakes(files):
    root = files("l/a.png", "l/b.png", "r/a.png", "o/x.png", "empty/notes.txt")
    for left, right, said in (
        ("l", "r", r"only one of them has b.png \(1 such files\)"),
        ("l", "o", "l has 2 images and .*o has 1; their names differ"),
        ("l", "empty", "empty: no images there; legal endings: .png"),
        ("l", "r/a.png", "one is a file and one is a folder"),
    ):
        with pytest.raises(DataError, match=said):
            pairs(str(root / left), str(root / right))
