"""Metrics refuse arrays of another size, which their kernels would read beyond."""

import numpy as np
import pytest

from stereo_framework.core.errors import DataError
from stereo_framework.evaluation.depth_error import sigma_z_error
from stereo_framework.evaluation.disparity_error import (
    bad_pixels,
    error_quantile,
    fraction_matched,
    mean_absolute_error,
    rms_error,
)
from stereo_framework.evaluation.hci import extract_subsets, hci_metrics
from stereo_framework.evaluation.prediction import (
    Prediction,
    forward_prediction,
    inverse_prediction,
    prediction_error,
)
from stereo_framework.evaluation.regions import left_right_difference
from stereo_framework.evaluation.roc import map_errors, matching_table

ROWS, COLUMNS = 6, 8
MAP, MASK = np.ones((ROWS, COLUMNS), np.float32), np.ones((ROWS, COLUMNS), bool)
METRICS = {
    "bad_pixels": (bad_pixels, MAP, MAP, MASK),
    "rms_error": (rms_error, MAP, MAP, MASK),
    "fraction_matched": (fraction_matched, MAP, MASK),
    "sigma_z_error": (sigma_z_error, MAP, MAP, MASK),
    "mean_absolute_error": (mean_absolute_error, MAP, MAP, MASK),
    "error_quantile": (lambda *maps: error_quantile(*maps, 0.5), MAP, MAP, MASK),
    "forward_prediction": (lambda *maps: forward_prediction(*maps, 1.0), MAP, MAP),
    "inverse_prediction": (lambda *maps: inverse_prediction(*maps, 1.0), MAP, MAP),
    "prediction_error": (
        lambda image, other: prediction_error(Prediction(image, MASK), other),
        MAP,
        MAP,
    ),
    "left_right_difference": (lambda *maps: left_right_difference(*maps, 1), MAP, MAP),
    "hci_metrics": (lambda parts, *maps: hci_metrics(*maps, extract_subsets(parts)), MAP, MAP, MAP),
    "matching_table": (
        lambda one, other, where: matching_table(one, other, evaluated=where),
        MAP,
        MAP,
        MASK,
    ),
    "map_errors": (lambda disparity, truth: map_errors(disparity, matching_table(truth)), MAP, MAP),
}


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    "size", [(ROWS, COLUMNS - 3), (ROWS, 2 * COLUMNS), (ROWS - 2, COLUMNS), (1, COLUMNS)]
)
def test_arrays_of_another_size_are_refused(name, size):
    metric, *arrays = METRICS[name]
    for i in range(1, len(arrays)):
        others = [np.ones(size, array.dtype) if k == i else array for k, array in enumerate(arrays)]
        with pytest.raises(
            DataError,
            match=r"^\w+: \w+ has shape \(\d+, \d+\); expected \(\d+, \d+\), the size of \w+$",
        ):
            metric(*others)
