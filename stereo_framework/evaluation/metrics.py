"""The table of metrics: what can be measured, in which unit, whether lower or higher is better, and where it is defined.

Every metric is a plain function of arrays in a module beside this one. A row of the table ties it to the choices of a protocol, by the names of the
protocol's fields, so that protocols can refer to metrics while metrics know nothing of protocols. A row gives one statistic for each region
(``avg_error_nonocc``), for each predicted frame (``predict_err_near``) or for the whole map (``fraction_matched``).
"""

from __future__ import annotations

import functools
import inspect
import math
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from stereo_framework.core.registry import Registry
from stereo_framework.core.scene import Calibration, Disparity, Image, Mask
from stereo_framework.evaluation.depth_error import sigma_z_error
from stereo_framework.evaluation.disparity_error import (
    bad_pixels,
    density,
    error_quantile,
    fraction_matched,
    invalid_pixels,
    mean_absolute_error,
    mean_absolute_percentage_error,
    mean_squared_error,
    rms_error,
)
from stereo_framework.evaluation.hci import HCI_METRICS
from stereo_framework.evaluation.prediction import Prediction, prediction_error
from stereo_framework.evaluation.similarity import (
    mean_squared_difference,
    peak_signal_to_noise,
    r_ssim,
    structural_similarity,
)
from stereo_framework.evaluation.sparsification import Sparsification, optimal_area


@dataclass(frozen=True, eq=False)
class Region:
    """What a metric that is measured on a region gets.

    Parameters
    ----------
    disparity, truth : ndarray, float32, (rows, columns)
        In the pixels in which the protocol counts errors; rounded, clipped and filled as it says.
    mask : ndarray, bool, (rows, columns)
        The region's pixels.
    given : ndarray, float32, (rows, columns)
        The same disparities before anything was filled: NaN where the method gave no estimate.
    calibration : Calibration or None
        In the same pixels as the disparities above.
    """

    disparity: Disparity
    truth: Disparity
    mask: Mask
    given: Disparity
    calibration: Calibration | None


View = tuple[Prediction, Image]
"""A predicted view and the real image to compare it with."""


Better = Literal["lower", "higher", ""]
"""The better values of a metric; empty if neither is better."""

About = Literal[
    "region", "frame", "map", "subsets", "matches", "pseudo_truth", "confidence", "sparsification"
]
"""The object that a metric measures."""

Pooled = Literal["mean", "rms", "sum", ""]
"""The average of a metric over the pixels of many scenes; empty if there is none."""


@dataclass(frozen=True, eq=False)
class Metric:
    """A row of the table.

    Parameters
    ----------
    name : str
        The beginning of the names of its statistics.
    unit : str
        Percent, pixels, grey levels, ...
    better : str
        ``"lower"`` or ``"higher"``; ``""`` where neither is better.
    about : str
        What its statistics are about: ``"region"``, ``"frame"``, ``"map"``, ``"subsets"`` (the parts of the truth that the HCI metrics look at),
        ``"matches"`` (the map as a set of matches between the two frames), ``"pseudo_truth"`` (a map that stands in for the truth), ``"confidence"`` (a
        measure of how sure each pixel is) or ``"sparsification"`` (the whole map, where such measures are given).
    source : str
        The paper or program that defines it.
    compute : callable, optional
        Takes what the metric is about: a `Region`, a pair of `Prediction` and real image, the whole image as a `Region`, `roc.MapErrors` or a
        `Sparsification`. Its keyword-only parameters are fields of the protocol, and perhaps `threshold`; then it is measured at each threshold.
        None: `hci_metrics` measures it.
    pooled : str
        How it is averaged over the pixels of many scenes: ``"mean"``, ``"rms"``, ``"sum"``, or ``""`` where that would take all errors together.
    """

    name: str
    unit: str
    better: Better
    about: About
    source: str
    compute: Callable[..., float] | None = None
    pooled: Pooled = ""

    def value(self, seen: Any, protocol: Any) -> float:
        """Return the value of the metric for an object of its kind, under a protocol."""
        assert self.compute is not None, "HCI metrics are measured together"
        return self.compute(seen, **self._arguments(protocol, protocol.thresholds[0]))

    def _arguments(self, protocol: Any, threshold: float) -> dict[str, Any]:
        """Return the choices of a protocol that the metric uses, by name."""
        arguments = {}
        for name in self._choices:
            arguments[name] = threshold if name == "threshold" else getattr(protocol, name)
        return arguments

    @functools.cached_property
    def _choices(self) -> tuple[str, ...]:
        """The fields of the protocol that the metric uses. Looking them up takes longer than measuring a small map, so they are kept."""
        assert self.compute is not None, "HCI metrics are measured together"
        parameters = inspect.signature(self.compute).parameters.values()
        return tuple(
            p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty
        )

    def statistics(self, seen: Mapping[str, Any], protocol: Any) -> dict[str, float]:
        """Return the statistics of the metric under a protocol, by name.

        Parameters
        ----------
        seen : mapping
            Objects of the metric's kind by the name of the region or frame. The name of
            the whole map is empty. For the HCI metrics, the mapping contains the values
            of all of them by name.
        protocol : Protocol
        """
        if self.about == "subsets":
            return {name: value for name, value in seen.items() if metric_of(name) is self}
        if not seen:
            return {}
        assert self.compute is not None, "HCI metrics are measured together"
        statistics = {}
        for name, threshold in self._thresholds(protocol).items():
            arguments = self._arguments(protocol, threshold)
            for place, item in seen.items():
                statistic = f"{name}_{place}" if place else name
                statistics[statistic] = self.compute(item, **arguments)
        return statistics

    def _thresholds(self, protocol: Any) -> dict[str, float]:
        """Return the thresholds of a protocol by the names of the statistics."""
        thresholds = {self.name: protocol.thresholds[0]}
        if self.name in THRESHOLDED and len(protocol.thresholds) > 1:
            first_part = self.name.removesuffix("_pixels")
            thresholds |= {f"{first_part}{shortest(value)}": value for value in protocol.thresholds}
        return thresholds


def shortest(value: float) -> str:
    """A number as names and lines show it: the shortest text that stands for exactly this number (``0.5``, ``2``)."""
    return repr(float(value)).removesuffix(".0")


def _counted(region: Region, missing: str) -> Mask:
    """The pixels of which percentages are taken."""
    return region.mask & np.isfinite(region.given) if missing == "skip" else region.mask


def _bad_pixels(
    region: Region, *, threshold: float, relative_threshold: float, missing: str
) -> float:
    # A region without any estimate is wrong everywhere, as in ETH3D's program.
    mask = _counted(region, missing)
    if missing == "skip" and region.mask.any() and not mask.any():
        return 100.0
    apart = missing == "apart"
    return bad_pixels(
        region.disparity,
        region.truth,
        mask,
        threshold,
        relative=relative_threshold,
        count_missing=not apart,
    )


def _of_errors(function: Callable[..., float], region: Region, *, missing: str) -> float:
    value = function(region.disparity, region.truth, region.mask)
    unmeasured = missing == "skip" and math.isnan(value) and bool(region.mask.any())
    return math.inf if unmeasured else value


def _pixels(region: Region, *, missing: str) -> float:
    return float(np.count_nonzero(_counted(region, missing)))


def _sigma_z(
    region: Region, *, depth_scale: str, depth_offset: float, depth_missing: str, mean: bool = False
) -> float:
    scale, offset = 1.0, depth_offset
    if depth_scale == "calibration":
        if region.calibration is None:
            return math.nan
        scale = region.calibration.focal_length * region.calibration.baseline
        offset += region.calibration.doffs
    return sigma_z_error(
        region.given,
        region.truth,
        region.mask,
        scale=scale,
        mu=offset,
        missing=depth_missing,
        mean=mean,
    )


def _predict_err(view: View, *, count_grey_holes: bool, partial_shuffle: float) -> float:
    prediction, real = view
    return prediction_error(
        prediction,
        real,
        partial_shuffle=partial_shuffle,
        count_holes=count_grey_holes and real.ndim == 2,
    )


def _view(function: Callable[..., float], view: View) -> float:
    prediction, real = view
    return function(prediction.image, real, prediction.predicted)


def _auc_ratio(order: Sparsification) -> float:
    optimal = optimal_area(order.error_rate)
    return order.area / optimal if optimal > 0 else math.nan


def sparsified(
    whole: Region, confidence: Disparity, threshold: float, relative_threshold: float
) -> Sparsification:
    """The order in which a measure of confidence puts the pixels of a region that have an estimate.

    Parameters
    ----------
    whole : Region
    confidence : ndarray of floats, (rows, columns)
        Higher = surer.
    threshold, relative_threshold : float
        The errors above which a pixel is wrong, as in `Protocol`.
    """
    known = whole.mask & np.isfinite(whole.given)
    truth = whole.truth[known]
    error = np.abs(whole.disparity[known] - truth)
    bad = (error > np.float32(threshold)) & (
        error > relative_threshold * np.abs(truth).astype(np.float64)
    )
    return Sparsification(confidence[known], bad)


def _per_region(
    name: str, unit: str, source: str, function: Callable[..., float], pooled: Any = ""
) -> Metric:
    return Metric(name, unit, "lower", "region", source, partial(_of_errors, function), pooled)


def _of_reference(name: str, unit: str, source: str, function: Callable[..., float]) -> Metric:
    return Metric(
        name,
        unit,
        "lower",
        "pseudo_truth",
        source,
        lambda r: function(r.given, r.truth, r.mask & np.isfinite(r.truth)),
    )


_TAXONOMY, _V3, _KITTI = (
    "Scharstein & Szeliski 2002, section 5.1",
    "Middlebury v3 evaluation kit",
    "KITTI 2012; ",
)
_KOSTLIVA, _MAPE = "Kostliva, Cech & Sara 2007, section 2: ", "Cabezas et al. 2011, Table 1"
_SZE, _WANG = "Cabezas, Padilla & Trujillo 2011, equation 4", "Wang et al. 2004"
_HU = "area under error rate over density, surest first (Hu & Mordohai 2012)"
_MATCHED, _VIEW = (
    "pixels inside the border that have an estimate",
    "squared differences of predicted pixels",
)
_PSEUDO_TRUTH = "without truth: pixels off the pseudo ground truth by more than "
_COVERAGE, _MISSED = (
    "share of each HCI subset that was measured",
    "fine structures without an estimate of them",
)

_TABLE = (
    _per_region("rms_error", "px", _TAXONOMY + ", equation 8", rms_error, "rms"),
    Metric(
        "bad_pixels",
        "%",
        "lower",
        "region",
        _TAXONOMY + ", equation 9; KITTI: Out, D1",
        _bad_pixels,
        "mean",
    ),
    Metric(
        "invalid_pixels",
        "%",
        "lower",
        "region",
        _V3,
        lambda r: invalid_pixels(r.given, r.mask),
        "mean",
    ),
    Metric(
        "total_bad_pixels", "%", "lower", "region", _V3, partial(_bad_pixels, missing="bad"), "mean"
    ),
    Metric(
        "density",
        "%",
        "higher",
        "region",
        _KITTI + "ETH3D: coverage",
        lambda r: density(r.given, r.mask),
        "mean",
    ),
    Metric("pixels", "count", "", "region", "pixels that percentages are of", _pixels, "sum"),
    _per_region("avg_error", "px", _KITTI + "mean absolute error", mean_absolute_error, "mean"),
    _per_region("mse", "px^2", _MAPE, mean_squared_error, "mean"),
    *(
        _per_region(f"A{q}", "px", _V3, partial(error_quantile, quantile=q / 100))
        for q in (50, 90, 95, 99)
    ),
    _per_region(
        "mre",
        "fraction",
        "mean relative error, of the truth",
        lambda *maps: mean_absolute_percentage_error(*maps) / 100,
        "mean",
    ),
    _per_region("mape", "%", _MAPE, mean_absolute_percentage_error, "mean"),
    Metric("sigma_z_error", "depth", "lower", "region", _SZE, _sigma_z, "sum"),
    Metric(
        "mean_sigma_z_error",
        "depth",
        "lower",
        "region",
        _SZE + ", per pixel",
        partial(_sigma_z, mean=True),
        "mean",
    ),
    Metric(
        "fraction_matched",
        "fraction",
        "higher",
        "map",
        _MATCHED,
        lambda r: fraction_matched(r.given, r.mask),
    ),
    Metric(
        "r_ssim",
        "-1..1",
        "higher",
        "map",
        "Malpica & Bovik 2009",
        lambda r: r_ssim(r.given, r.truth, r.mask),
    ),
    Metric("predict_err", "grey levels", "lower", "frame", _TAXONOMY, _predict_err),
    Metric(
        "view_mse",
        "grey levels^2",
        "lower",
        "frame",
        _VIEW,
        partial(_view, mean_squared_difference),
    ),
    Metric(
        "view_psnr",
        "dB",
        "higher",
        "frame",
        "10 log10(255^2 / view_mse)",
        partial(_view, peak_signal_to_noise),
    ),
    Metric(
        "view_mssim",
        "-1..1",
        "higher",
        "frame",
        _WANG + ", on predicted pixels",
        partial(_view, structural_similarity),
    ),
    _of_reference(
        "pseudo_truth_distance", "%", _PSEUDO_TRUTH + "1 px", partial(bad_pixels, threshold=1.0)
    ),
    _of_reference(
        "pseudo_truth_distance_0.5",
        "%",
        _PSEUDO_TRUTH + "0.5 px",
        partial(bad_pixels, threshold=0.5),
    ),
    _of_reference(
        "pseudo_truth_distance_mean",
        "px",
        "mean distance to the pseudo ground truth",
        mean_absolute_error,
    ),
    Metric(
        "pseudo_truth_density",
        "%",
        "",
        "pseudo_truth",
        "pixels of the pseudo ground truth",
        lambda r: density(r.truth, r.mask),
    ),
    Metric("error_rate", "fraction", "lower", "matches", _KOSTLIVA + "ER", lambda e: e.error_rate),
    Metric(
        "sparsity_rate", "fraction", "lower", "matches", _KOSTLIVA + "SR", lambda e: e.sparsity_rate
    ),
    Metric(
        "mismatches",
        "count",
        "lower",
        "matches",
        _KOSTLIVA + "MI",
        lambda e: float(e.mismatches),
        "sum",
    ),
    Metric(
        "false_positives",
        "count",
        "lower",
        "matches",
        _KOSTLIVA + "FP",
        lambda e: float(e.false_positives),
        "sum",
    ),
    Metric(
        "false_negatives",
        "count",
        "lower",
        "matches",
        _KOSTLIVA + "FN",
        lambda e: float(e.false_negatives),
        "sum",
    ),
    Metric("auc", "%", "lower", "confidence", _HU, lambda order: 100 * order.area),
    Metric(
        "auc_ratio",
        "",
        "lower",
        "confidence",
        "auc over auc_optimal; 1 = the best order",
        _auc_ratio,
    ),
    Metric(
        "auc_optimal",
        "%",
        "lower",
        "sparsification",
        _HU,
        lambda order: 100 * optimal_area(order.error_rate),
    ),
    *(Metric(m.name, m.unit, "lower", "subsets", m.source) for m in HCI_METRICS.values()),
    Metric("hci_coverage", "fraction", "higher", "subsets", _COVERAGE),
    Metric("hci_missed_structures", "count", "lower", "subsets", _MISSED),
)

METRICS: Registry[Metric] = Registry("metric", {metric.name: metric for metric in _TABLE})
"""All metrics by name."""

GROUPS: Mapping[str, tuple[str, ...]] = types.MappingProxyType(
    {
        "hci": tuple(name for name, metric in METRICS.items() if metric.about == "subsets"),
        "confidence": ("auc", "auc_ratio", "auc_optimal"),
        "roc": tuple(name for name, metric in METRICS.items() if metric.about == "matches"),
    }
)
"""Names that stand for several metrics."""


def spelled_out(names: Iterable[str]) -> tuple[str, ...]:
    """Statistics by name, each once. The name of a group is replaced by those of its statistics by which methods are judged.

    Parameters
    ----------
    names : iterable of str
        Statistics, or names of groups: ``hci`` is the nine HCI metrics, without the statistics that say how they came about.

    Examples
    --------
    >>> spelled_out(["bad_pixels_nonocc", "hci"])[:3]
    ('bad_pixels_nonocc', 'hci_foreground_fattening', 'hci_foreground_thinning')
    >>> len(spelled_out(["hci", "hci_offset"]))
    9
    """
    judged = {"hci": tuple(HCI_METRICS)}
    return tuple(
        dict.fromkeys(
            name for item in names for name in judged.get(item, GROUPS.get(item, (item,)))
        )
    )


THRESHOLDED = ("bad_pixels", "total_bad_pixels")
"""The metrics that are measured at every threshold of a protocol; all others have one value."""

_THRESHOLD = re.compile(r"(bad|total_bad)[0-9][0-9.e+-]*_")


def metric_of(statistic: str) -> Metric | None:
    """The metric that a statistic belongs to (``bad0.5_all`` belongs to ``bad_pixels``), or None if there is none.

    Examples
    --------
    >>> metric_of("rms_error_nonocc").unit
    'px'
    """
    return _metric_of(statistic, METRICS.changes)


@functools.cache
def _metric_of(statistic: str, changes: int) -> Metric | None:
    # Asked of thousands of results; `changes` keeps the answers to what is registered now.
    with_threshold = _THRESHOLD.match(statistic)
    if with_threshold:
        return METRICS[f"{with_threshold[1]}_pixels"]
    names = [name for name in METRICS if statistic == name or statistic.startswith(f"{name}_")]
    return METRICS[max(names, key=len)] if names else None
