"""The picture of README: points seen from the side."""

import numpy as np
import pytest

pytest.importorskip("PIL")
from draw_front_picture import BACKGROUND, from_the_side

pytestmark = pytest.mark.docs


def test_what_is_near_hides_what_is_behind_and_moves_against_it():
    x, y = np.meshgrid(np.linspace(-1, 1, 200), np.linspace(-1, 1, 200))
    wall = np.stack([x, y, np.full_like(x, 10)], axis=2).reshape(-1, 3)
    post = wall[abs(wall[:, 0]) < 0.1] - [0, 0, 1]
    colours = np.repeat([[255, 0, 0], [0, 0, 255]], [len(wall), len(post)], axis=0).astype(np.uint8)
    picture = from_the_side(np.concatenate([wall, post]).astype(np.float32), colours, 60, 80)
    assert picture.shape == (60, 80, 3)
    row = picture[30]
    red, blue = (np.flatnonzero((row == colour).all(axis=1)) for colour in ([255, 0, 0], [0, 0, 255]))
    assert len(red) + len(blue) + (row == BACKGROUND).all(axis=1).sum() == 80
    # The post is whole, and no longer before the middle of the wall.
    assert np.array_equal(blue, np.arange(blue[0], blue[-1] + 1))
    assert abs(blue.mean() - np.concatenate([red, blue]).mean()) > 3
