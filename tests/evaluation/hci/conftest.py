"""A made scene with an object, a slanted plane and a grid of bars, and maps of it that have one fault each."""

import cv2
import numpy as np
import pytest

ROWS, COLUMNS = 160, 260
WALL, NEAR = 10, 20
OBJECT = np.s_[:, 45:75]
PLANE = np.s_[:, 101:170]
BARS = [np.s_[60:90, left : left + 3] for left in (190, 197, 204, 211)]
"""Rows and columns. The bars stand 4 pixels apart; unknown columns keep the three parts from each other."""


def made_truth():
    truth = np.full((ROWS, COLUMNS), WALL, np.float32)
    truth[OBJECT] = NEAR
    truth[PLANE] = 12 + np.arange(69) / 4  # quarters are exact in float32
    for bar in BARS:
        truth[bar] = NEAR
    truth[:, [100, 170]] = np.nan
    return truth


def faults():
    """Maps by the name of their fault."""
    truth = made_truth()
    perfect = np.where(np.isnan(truth), WALL, truth).astype(np.float32)
    maps = {
        name: perfect.copy()
        for name in (
            "fattened",
            "thinned",
            "blurred",
            "noise",
            "offset",
            "tilt",
            "gaps",
            "lost",
            "filled",
        )
    }
    maps["fattened"][:, [44, 75]] = NEAR
    maps["thinned"][:, [45, 74]] = WALL
    maps["blurred"][:, :95] = cv2.blur(perfect[:, :95], (9, 1), borderType=cv2.BORDER_REPLICATE)
    # Bounded, so that every pixel of a bar is still found.
    maps["noise"] += np.random.default_rng(0).uniform(-0.4, 0.4, truth.shape).astype(np.float32)
    maps["offset"][PLANE] += 4
    maps["tilt"][PLANE] += 0.25 * (np.arange(69) - 34)
    for rows in (slice(67, 70), slice(80, 83)):
        maps["gaps"][rows, BARS[0][1]] = WALL
    maps["lost"][BARS[1]] = WALL
    maps["filled"][60:90, 193:197] = NEAR
    return perfect, maps


@pytest.fixture(scope="session")
def made():
    """Truth, subsets, the perfect map, and the faulty ones by name."""
    from stereo_framework.evaluation.hci import extract_subsets

    truth = made_truth()
    return truth, extract_subsets(truth), *faults()
