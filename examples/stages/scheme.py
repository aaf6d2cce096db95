"""A scheme: runs the whole method on parts of the pair and puts the maps together."""

from dataclasses import replace
from typing import Annotated

import numpy as np

from stereo_framework import NonNegativeInt, PositiveInt, Unit, stage


@stage("scheme", source="Hirschmueller 2008, section 2.7")
def bands_of_rows(
    solve,
    pair,
    *,
    rows: Annotated[PositiveInt, Unit("pixels")] = 64,
    overlap: Annotated[NonNegativeInt, Unit("pixels")] = 16,
):
    """Match bands of rows by themselves, so that methods that see the whole never see more than a band.

    Parameters
    ----------
    solve : callable
        Matches a pair: `solve(pair)` gives an Estimate. Both views of a method that names `other` run inside.
    pair : Pair
        `pair.reference`, `pair.match`, `pair.search`, `pair.mask`; `pair.rows(top, bottom)` is a part of it.
    rows : int
        Rows of a band.
    overlap : int
        Rows that a band sees above and below its own, in pixels.

    Returns
    -------
    Estimate
        With a disparity and a status for every pixel of the pair.
    """
    height = pair.shape[0]
    disparities, statuses = [], []
    for top in range(0, height, rows):
        first, last = max(0, top - overlap), min(height, top + rows + overlap)
        match = solve(pair.rows(first, last))
        own = slice(top - first, min(top + rows, height) - first)
        disparities.append(match.disparity[own])
        statuses.append(match.status[own])
    joined = {"disparity": np.concatenate(disparities), "status": np.concatenate(statuses)}
    # What is known of a band alone, its levels and its energy, says nothing of the whole.
    nothing = {
        "levels": None,
        "energy": None,
        "objective": None,
        "lower_bound": None,
        "trace": (),
        "confidence": {},
    }
    return replace(match, **joined, **nothing)
