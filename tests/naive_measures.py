"""Slow, obvious versions of the depth error, the structural similarity with holes and the left-right difference."""

import math

import numpy as np


def sigma_z(disparity, truth, mask, scale, mu, missing):
    """The list of terms."""
    terms = []
    for estimate, true, inside in zip(disparity.flat, truth.flat, mask.flat, strict=True):
        estimate, true = float(estimate), float(true)
        if not inside or not math.isfinite(true) or true + mu <= 0:
            continue
        if math.isfinite(estimate) and estimate + mu > 0:
            depth = scale / (estimate + mu)
        elif missing == "skip":
            continue
        else:
            depth = scale / (0 + mu) if missing == "literal" else 0
        terms.append(abs(scale / (true + mu) - depth))
    return terms


def structural_similarity(a, b, valid, largest):
    """Wang et al. 2004, equations 13 to 17, window by window; the weights are those of the valid pixels."""
    gauss = [math.exp(-(i**2) / (2 * 1.5**2)) for i in range(-5, 6)]
    weights = np.outer(gauss, gauss)
    c1, c2 = (0.01 * largest) ** 2, (0.03 * largest) ** 2
    found = []
    for y in range(5, a.shape[0] - 5):
        for x in range(5, a.shape[1] - 5):
            if not valid[y, x]:
                continue
            window = np.s_[y - 5 : y + 6, x - 5 : x + 6]
            inside = valid[window]
            w = weights[inside] / weights[inside].sum()
            p, q = a[window][inside].astype(float), b[window][inside].astype(float)
            mp, mq = (w * p).sum(), (w * q).sum()
            vp, vq, cov = (
                (w * (p - mp) ** 2).sum(),
                (w * (q - mq) ** 2).sum(),
                (w * (p - mp) * (q - mq)).sum(),
            )
            found.append(
                (2 * mp * mq + c1) * (2 * cov + c2) / ((mp**2 + mq**2 + c1) * (vp + vq + c2))
            )
    return np.mean(found) if found else math.nan


def left_right(disparity, match_disparity, direction):
    rows, columns = disparity.shape
    result = np.full((rows, columns), np.nan, np.float32)
    for y in range(rows):
        for x in range(columns):
            d = float(disparity[y, x])
            if not math.isfinite(d):
                continue
            whole = math.floor(abs(d) + 0.5)
            target = x - direction * (whole if d >= 0 else -whole)
            if target in range(columns) and math.isfinite(match_disparity[y, target]):
                result[y, x] = abs(disparity[y, x] - match_disparity[y, target])
    return result
