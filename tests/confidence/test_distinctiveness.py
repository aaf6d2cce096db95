import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernel_inputs import image_pairs, in_threads

from stereo_framework import Search
from stereo_framework.confidence import distinctiveness


def twin(image, widest, window):
    image = np.round(image.reshape(*image.shape[:2], -1).astype(float) * 4096) / 4096
    rows, columns, _ = image.shape
    padded = np.pad(image, (((window - 1) // 2, window // 2),) * 2 + ((0, 0),), mode="edge")
    windows = {(y, x): padded[y : y + window, x : x + window] for y in range(rows) for x in range(columns)}
    found = np.zeros((rows, columns), np.float32)
    for y, x in windows:
        others = [i for i in range(columns) if 0 < abs(i - x) <= widest]
        if others:
            found[y, x] = min(np.abs(windows[y, x] - windows[y, i]).sum() / window**2 for i in others)
    return found


@given(
    pair=image_pairs(), window=st.sampled_from([3, 2, 1, 5]), width=st.sampled_from([3, 1, 2, 9, 1.5]), threads=st.integers(1, 3)
)
def test_agrees_with_twin(pair, window, width, threads):
    image = pair[0]
    disparity = np.zeros(image.shape[:2], np.float32)
    disparity[0, 0] = np.nan
    with in_threads(threads):
        found = distinctiveness(disparity, image, Search(-1, width - 1, 0.5), size=window)
    expected = twin(image, int(np.ceil(width)), window)
    expected[0, 0] = expected.min()
    np.testing.assert_array_equal(found, expected, strict=True)
