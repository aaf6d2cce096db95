"""A learned combination of measures."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from stereo_framework.errors import ParameterError
from stereo_framework.kernels.ranks import rank_shares
from stereo_framework.scene import Disparity
from stereo_framework.stage import stage


@stage("confidence", source="logistic regression, Cox 1958; what it combines is ours")
def learned(disparity: Disparity, confidence: Mapping[str, NDArray[np.float32]]) -> NDArray[np.float32]:
    """The probability that a pixel is right, from the ranks that other measures give it.

    Parameters
    ----------
    disparity : ndarray, float32, (rows, columns)
        Pixels, NaN = no estimate.
    confidence : mapping of str to ndarray, float32, (rows, columns)
        The measures before it in the method's list, higher = surer; those of `MEASURES` must be among them.

    Returns
    -------
    ndarray, float32, (rows, columns)
        0 to 1, higher = surer; 0 where there is no estimate.

    Raises
    ------
    ParameterError
        The method lacks a measure that is combined.

    Notes
    -----
    ``1 / (1 + exp(-(b + sum w_i r_i)))``, r the share of the map's estimates that a measure is less sure of, equal ones counting half. The weights were learned
    from census costs and semi-global matching, on the scenes that ``learned.yaml`` beside this file names with the areas that were reached on each
    scene by weights learned from all others. For other costs the order is what counts: the probability is then off.

    Examples
    --------
    >>> import numpy as np
    >>> sure = dict.fromkeys(MEASURES, np.float32([[1, 2, 3]]))
    >>> bool((np.diff(learned(np.zeros((1, 3), np.float32), sure)) > 0).all())
    True
    """
    missing = [name for name in MEASURES if name not in confidence]
    if missing:
        raise ParameterError(f"learned: needs the measures {', '.join(missing)} before it under confidence:")
    known = ~np.isnan(disparity)
    found = np.zeros(disparity.shape, np.float32)
    table = coefficients()
    # Values that are there everywhere need no choosing.
    chosen = ... if known.all() else known
    score = combined({name: confidence[name][chosen] for name in MEASURES}, table["weights"], table["intercept"])
    found[chosen] = 1 / (1 + np.exp(-score))
    return found


def combined(measures: Mapping[str, NDArray], weights: Mapping[str, float], intercept: float) -> NDArray[np.float64]:
    """The logarithm of the odds that pixels are right, float64 (n,), from measures of each, (n,)."""
    return intercept + sum(
        (weights[name] * rank_shares(values).astype(np.float64) for name, values in measures.items()), np.zeros(())
    )


@functools.cache
def coefficients() -> dict[str, Any]:
    """What was learned: weights by measure and the intercept, and of what."""
    text = (resources.files("stereo_framework.confidence") / "learned.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


MEASURES: tuple[str, ...] = tuple(coefficients()["weights"])
"""The measures that are combined."""
