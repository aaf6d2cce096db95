"""A chart: drawn on the page of a run from the table of its results."""

import stereo_framework as sf


@sf.chart("mine")
def mine(axes, frame):
    """Errors over time. `frame` is a pandas DataFrame with a row for each result, as `results(DIR)` gives it; `axes` are matplotlib's."""
    for method, own in frame.groupby("method"):
        axes.scatter(own["seconds"], own["bad_pixels_nonocc"], label=method)
    axes.set(xlabel="seconds", ylabel="bad pixels (%)")
    axes.legend()
