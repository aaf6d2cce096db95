"""The average over scenes that a benchmark publishes of one submission, as its protocol prescribes it: with weights, in columns, or over all pixels.

Means over scenes, seeds and settings that tables and charts show are those of `tables.means`.
"""

import math
import operator
from collections.abc import Mapping, Sequence

from stereo_framework.evaluation.metrics import metric_of
from stereo_framework.evaluation.protocols import Protocol


def average(
    statistics: Sequence[Mapping[str, float]], protocol: Protocol, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Average statistics over scenes as the protocol prescribes.

    Parameters
    ----------
    statistics : sequence of mappings of str to float
        What `evaluate` returned for each scene, always under `protocol`.
    protocol : Protocol
    weights : sequence of float, optional
        `Scene.weight` of each scene; only weighted averages use them.

    Returns
    -------
    dict of str to float
        The statistics that all scenes have, by name; NaN where one of them is undefined. In averages over pixels an empty region adds nothing, and
        statistics that cannot be averaged in this way (quantiles) are absent. Averages of columns also have ``bad_pixels``, the mean of the columns.

    Notes
    -----
    Middlebury v2: mean over scenes and columns; v3: weighted mean; ETH3D and KITTI 2012: mean; KITTI 2015: errors of all images over
    pixels of all images.

    Examples
    --------
    >>> from stereo_framework.evaluation import resolve
    >>> average([{"bad_pixels_all": 2.0}, {"bad_pixels_all": 4.0}], resolve("middlebury-v2"))
    {'bad_pixels_all': 3.0, 'bad_pixels': 3.0}
    """
    if not statistics:
        return {}
    if protocol.averaging == "pixels":
        return _over_pixels(statistics, protocol.regions)
    used = list(weights) if weights is not None and protocol.averaging == "weighted" else [1.0] * len(statistics)
    everywhere = set(statistics[0]).intersection(*statistics[1:])
    names = [name for name in statistics[0] if name in everywhere]
    found = {name: sum(map(operator.mul, used, [s[name] for s in statistics])) / sum(used) for name in names}
    if protocol.averaging == "columns":
        columns = [value for name, value in found.items() if name.startswith("bad_pixels_")]
        if columns:
            found["bad_pixels"] = sum(columns) / len(columns)
    return found


def _over_pixels(statistics: Sequence[Mapping[str, float]], regions: Sequence[str]) -> dict[str, float]:
    found = {}
    for name in dict.fromkeys(name for s in statistics for name in s):
        metric = metric_of(name)
        if metric is None or not metric.pooled:
            continue
        if metric.pooled == "sum":
            found[name] = sum(s.get(name, 0.0) for s in statistics)
            continue
        # The name of one region may be the end of another one's name: nonocc, background_nonocc.
        region = max((r for r in regions if name.endswith(f"_{r}")), key=len)
        counted = [(s[f"pixels_{region}"], s[name]) for s in statistics if name in s and s[f"pixels_{region}"]]
        pixels = sum(count for count, _ in counted)
        power = 2 if metric.pooled == "rms" else 1
        power_mean = sum(count * value**power for count, value in counted) / pixels if pixels else math.nan
        found[name] = power_mean ** (1 / power)
    return found
