"""Directions of statistics: whether lower or higher values are better."""

from stereo_framework.evaluation.metrics import metric_of


def better_direction(name: str) -> str:
    """Return ``lower`` or ``higher``, whichever values of a statistic are better.

    The text is empty if neither is better.

    Examples
    --------
    >>> better_direction("bad_pixels_all"), better_direction("lower_bound")
    ('lower', 'higher')
    >>> better_direction("aggregation.box.size")
    ''
    """
    if name in ("energy", "gap") or name.partition(".")[0] == "seconds":
        return "lower"
    if name == "lower_bound":
        return "higher"
    metric = metric_of(name)
    return metric.better if metric else ""
