"""The protocol record: every choice that changes a number, its allowed values and its text."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, Lt, MinLen, Predicate

from stereo_framework.core.errors import ParameterError, nearest
from stereo_framework.core.former_names import new_or_nearest, report_attributes
from stereo_framework.core.parameters import (
    Checked,
    Fraction01,
    NonNegative,
    NonNegativeInt,
    Positive,
    Words,
    as_python_number,
    parameter_faults,
    with_defaults,
)
from stereo_framework.core.scene import Scene
from stereo_framework.evaluation.hci import Parameters as HciParameters
from stereo_framework.evaluation.hci.parameters import Pixels
from stereo_framework.evaluation.metrics import GROUPS, METRICS, shortest

REGIONS = ("all", "nonocc", "occ", "textured", "textureless", "discont")
"""The regions of Scharstein & Szeliski 2002, section 5.1, which are computed from the truth."""

MASKS = (
    "all",
    "nonocc",
    "disc",
    "background",
    "foreground",
    "background_nonocc",
    "foreground_nonocc",
)
"""Masks that benchmarks define. A scene may lack these; any other mask that a protocol names must exist."""

_WIDEST = 999
"""Largest allowed width of a window, in pixels. A wider one is a mistake and would exhaust the memory."""

_MISSING = {
    "bad": "a missing estimate is bad and left out of error averages",
    "apart": "missing estimates are counted apart (invalid), percentages are of all pixels, error averages of the estimates",
    "skip": "only estimated pixels are measured, missing ones lower the density",
    "zero": "a missing estimate is the disparity 0",
    "interpolate": "missing estimates are filled from their rows first (the smaller of the neighbours)",
}
_BEYOND = {
    "keep": "no clipping",
    "clip": "estimates clipped to 0..the data set's largest disparity",
    "drop": "estimates beyond the image width are missing",
}
_ROUNDING = {
    "none": "no rounding",
    "grey": "estimates rounded to the data set's grey levels",
    "whole": "estimates rounded where the data set's truth is whole",
}
_MASKS = {
    "computed": "regions computed from the truth",
    "scene": "regions from the data set's masks",
}
_AVERAGING = {
    "mean": "average = mean of the scenes",
    "columns": "average = mean of the scenes, in all of their bad_pixels columns",
    "weighted": "average = mean of the scenes with the data set's weights",
    "pixels": "average over the pixels of all scenes",
}
_MATCHES = "ROC rates: matches within 1 px of the truth are right, {} cells around ends of segments do not count"
_PSEUDO_TRUTH = "pseudo ground truth: AD-census, semi-global, where both views agree; a distance to it is no error rate"

Distinct = (MinLen(1), Predicate(lambda items: len(set(items)) == len(items)))
Width = Annotated[
    NonNegativeInt, Le(_WIDEST), Words(f"a whole number from 0 to {_WIDEST} (pixels)")
]


def _is_name(value: str) -> bool:
    return bool(value) and not any(c.isspace() for c in value)


def items(value: Any) -> tuple[Any, ...]:
    """The values of a list; a single value stands for a list of one."""
    values = value if isinstance(value, list | tuple) else (value,)
    return tuple(map(as_python_number, values))


def _check_metrics(value: Any) -> tuple[Any, ...]:
    allowed = (*METRICS, *GROUPS)
    strange = [name for name in items(value) if isinstance(name, str) and name not in allowed]
    if strange:
        near = new_or_nearest("statistics", "metrics", strange[0], allowed, kind="metrics")
        raise ValueError(f"there is no metric {', '.join(map(repr, strange))}; {near}")
    return items(value)


def _hci(value: Any) -> Any:
    try:
        return HciParameters.of(value) if isinstance(value, Mapping) else value
    except ParameterError as error:
        raise ValueError(
            "; ".join(line.removeprefix("hci.") for line in str(error).splitlines())
        ) from None


def field(key: str) -> str:
    """The field that a key of a mapping means: singular forms are allowed too."""
    return {"threshold": "thresholds", "metric": "metrics", "region": "regions"}.get(key, key)


def value_faults(values: Mapping[str, Any]) -> dict[str, str]:
    """The faults of single values, by key."""
    wrong = parameter_faults(
        Protocol, {"name": "derived"} | {field(key): value for key, value in values.items()}
    )
    return {key: wrong[field(key)] for key in values if field(key) in wrong}


def region_fault(regions: Any, masks: Any) -> str | None:
    """What is wrong with the names of computed regions, or None. Masks may have any name."""
    strange = [v for v in items(regions) if isinstance(v, str) and v not in REGIONS]
    if masks != "computed" or not strange:
        return None
    return f"no such region: {', '.join(map(repr, strange))}; {nearest(strange[0], REGIONS, kind='regions')}"


@report_attributes
@dataclass(frozen=True)
class Protocol:
    """How a disparity map is measured. The defaults are those of ``taxonomy2002``; ``str(protocol)`` lists every choice in one line.

    Parameters
    ----------
    name : str
        Stored with the results and printed below tables.
    metrics : tuple of str
        What is measured: names from `metrics.METRICS` and `metrics.GROUPS`.
    thresholds : tuple of float
        Errors above these (pixels) are bad. The first threshold is the main one, which ``bad_pixels_REGION`` uses.
    relative_threshold : float
        A bad error must also exceed this share of the true disparity (KITTI 2015: 0.05); 0 = no such rule.
    missing : str
        ``"bad"``: a missing estimate is a bad pixel; ``"apart"``: it is counted as invalid, percentages remain those of all pixels;
        ``"skip"``: only estimated pixels are measured; ``"zero"``: it is the disparity 0; ``"interpolate"``: filled as KITTI's kits do, for which estimates below 0 are missing too.
    beyond : str
        ``"keep"``, ``"clip"`` (estimates to 0..`Scene.largest_disparity`, as Middlebury's kit does, for which minus infinity is an estimate) or ``"drop"`` (those beyond the image width are missing).
    rounding : str
        ``"none"``; ``"grey"``: to the grey levels of the data set's 8-bit maps; ``"whole"``: to pixels where `Scene.whole_truth`.
    original_size : bool
        Count errors in pixels of the data set's original images, where the scene's images are reduced versions of them.
    enlarge : bool
        Enlarge a map of half or quarter size by repeating its pixels; otherwise such a map is refused.
    border : int or None
        Pixels on all four sides that are not evaluated; None = the scene's own border.
    truth_limit : float or None
        Pixels; where the truth is not below this in size nothing is evaluated (SceneFlow: 192). A scene
        without any pixel below it has no statistics and is left out of averages. None = no limit.
    masks : str
        ``"computed"``: the regions of the 2002 paper; ``"scene"``: the data set's masks, under their own names.
    regions : tuple of str
        Where errors are counted. ``all`` is every evaluated pixel with known truth.
    disparity_gap : float
        Pixels of disparity from which neighbours belong to two surfaces: for occlusions and discontinuities.
    textureless_width : int
        Side in pixels of the window over which squared horizontal differences are averaged; 0 = no averaging.
    textureless_threshold : float
        Grey levels; pixels with RMS differences below this are textureless.
    discontinuity_width : int
        Side in pixels of the window around a pixel in which a discontinuity counts.
    averaging : str
        How the benchmark averages its scenes: ``"mean"``; ``"columns"``: that, and one mean of all columns of bad pixels;
        ``"weighted"``: with `Scene.weight`; ``"pixels"``: over the pixels of all scenes, which the metric ``pixels`` counts.
    prediction : str
        ``"forward"``: other frames of the sequence are drawn from the reference image; ``"inverse"``: the reference image is
        drawn from them; ``"none"``: no views, no prediction errors.
    partial_shuffle : float
        0..1: how far prediction errors forgive misplacements of a pixel (Szeliski 1999); 0 = not at all.
    prediction_lines : bool
        Whether forward prediction draws lines between neighbours of one surface, and not only single pixels.
    count_grey_holes : bool
        In grey images, holes of a prediction count with intensity 255, as in the authors' program; in colour they never count.
    end_radius : int
        ROC rates: matches within so many cells (pixels, in both frames) of the end of a run of corresponding pixels do not count.
    depth_scale : str
        Sigma-Z-Error: ``"one"``: depth = 1 / disparity, the paper's; ``"calibration"``: the scene's focal length, baseline and doffs.
    depth_offset : float
        Sigma-Z-Error: the paper's mu, pixels added to disparities against division by 0.
    depth_missing : str
        Sigma-Z-Error of a missing estimate: ``"zero_depth"``, ``"literal"`` or ``"skip"``.
    hci : Parameters
        How the subsets of the HCI metrics are found: `evaluation.hci.Parameters`, or a mapping of those that differ from its defaults.

    Raises
    ------
    ParameterError
        Values that are not allowed, one line each.
    """

    name: Annotated[str, Predicate(lambda text: bool(text.strip())), Words("a text")]
    metrics: Annotated[
        tuple[str, ...],
        *Distinct,
        Checked(_check_metrics),
        Words(f"a list of different metrics; allowed: {', '.join((*METRICS, *GROUPS))}"),
    ] = ("rms_error", "bad_pixels", "fraction_matched", "predict_err")
    thresholds: Annotated[
        tuple[NonNegative, ...],
        *Distinct,
        Checked(items),
        Words("a number >= 0 (pixels) or a list of different ones, the main one first"),
    ] = (1.0,)
    relative_threshold: Annotated[
        NonNegative, Lt(1), Words("a number >= 0 and < 1 (share of the true disparity)")
    ] = 0.0
    missing: Literal["bad", "apart", "skip", "zero", "interpolate"] = "bad"
    beyond: Literal["keep", "clip", "drop"] = "keep"
    rounding: Literal["none", "grey", "whole"] = "none"
    original_size: bool = False
    enlarge: bool = False
    border: Annotated[
        NonNegativeInt | None, Words("a whole number >= 0 (pixels) or null (the scene's own)")
    ] = None
    truth_limit: Annotated[Positive | None, Words("a number > 0 (pixels) or null (no limit)")] = (
        None
    )
    masks: Literal["computed", "scene"] = "computed"
    regions: Annotated[
        tuple[Annotated[str, Predicate(_is_name)], ...],
        *Distinct,
        Checked(items),
        Words(
            f"a list of different regions: {', '.join(REGIONS)}, or, with masks: scene, names of the data set's masks"
        ),
    ] = REGIONS
    disparity_gap: Annotated[Positive, Words("a number > 0 (pixels)")] = 2.0
    textureless_width: Width = 3
    textureless_threshold: Annotated[NonNegative, Words("a number >= 0 (grey levels)")] = 4.0
    discontinuity_width: Annotated[
        Width, Ge(1), Words(f"a whole number from 1 to {_WIDEST} (pixels)")
    ] = 9
    averaging: Literal["mean", "columns", "weighted", "pixels"] = "mean"
    prediction: Literal["forward", "inverse", "none"] = "forward"
    partial_shuffle: Annotated[Fraction01, Words("a number from 0 to 1")] = 0.0
    prediction_lines: bool = True
    count_grey_holes: bool = True
    end_radius: Width = 2
    depth_scale: Literal["one", "calibration"] = "one"
    depth_offset: Pixels = 0.0
    depth_missing: Literal["zero_depth", "literal", "skip"] = "zero_depth"
    hci: Annotated[
        HciParameters, Checked(_hci), Words("a mapping of parameters of the HCI metrics")
    ] = dataclasses.field(default_factory=HciParameters)

    def __post_init__(self) -> None:
        found = value_faults(vars(self))
        if "regions" not in found and (fault := region_fault(self.regions, self.masks)):
            found["regions"] = fault
        if not found and self.averaging == "pixels" and "pixels" not in items(self.metrics):
            found["averaging"] = "'pixels' needs the metric 'pixels' among the metrics"
        if found:
            raise ParameterError(
                "\n".join(f"protocol.{name}: {message}" for name, message in found.items())
            )
        # One form for each value, so that protocols that measure the same are equal.
        values = with_defaults(Protocol, vars(self))
        values["metrics"] = tuple(
            dict.fromkeys(name for item in values["metrics"] for name in GROUPS.get(item, (item,)))
        )
        vars(self).update(values)

    @property
    def without_truth(self) -> bool:
        """Return whether the protocol measures distances to the pseudo ground truth."""
        return any(METRICS[name].about == "pseudo_truth" for name in self.metrics)

    def enlargement(self, scene: Scene) -> float:
        """Pixels in which errors are counted to a pixel of the scene, whose images may be reduced ones."""
        return scene.reduction if self.original_size else 1

    def as_dict(self) -> dict[str, Any]:
        """Every field in a form that JSON and YAML can hold; ``Protocol(**record)`` makes the protocol again."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()} | {
            "hci": self.hci.as_dict()
        }

    def __repr__(self) -> str:
        first, *others = filter(None, self._choices())
        return f"Protocol({self.name!r}: {first}{'; ...' * bool(others)})"

    def __str__(self) -> str:
        return f"{self.name}: {'; '.join(filter(None, self._choices()))}"

    def _choices(self) -> list[str]:
        """Every choice in words. A choice that does not affect the metrics is an empty text."""
        about = {METRICS[name].about for name in self.metrics}
        bad, depth = (
            any(name.endswith(end) for name in self.metrics)
            for end in ("bad_pixels", "sigma_z_error")
        )
        return [
            self._bad_text() if bad else "",
            f"metrics {', '.join(self.metrics)}",
            _MISSING[self.missing],
            _ROUNDING[self.rounding],
            _BEYOND[self.beyond],
            "errors in pixels of the original images" * self.original_size,
            "smaller maps enlarged by repetition" * self.enlarge,
            f"border {'of the scene' if self.border is None else f'{self.border} px'}",
            ""
            if self.truth_limit is None
            else f"only pixels with truth below {shortest(self.truth_limit)} px",
            f"{_MASKS[self.masks]}: {', '.join(self.regions)}" if "region" in about else "",
            self._region_text() if "region" in about and self.masks == "computed" else "",
            _AVERAGING[self.averaging],
            self._prediction_text() if "frame" in about else "",
            _MATCHES.format(self.end_radius) if "matches" in about else "",
            _PSEUDO_TRUTH if "pseudo_truth" in about else "",
            f"HCI subsets without occluded pixels, in the scene's own pixels: {self.hci}"
            if "subsets" in about
            else "",
            self._depth_text() if depth else "",
        ]

    def _bad_text(self) -> str:
        share = (
            f" and > {shortest(100 * self.relative_threshold)} % of the truth"
            if self.relative_threshold
            else ""
        )
        main, *further = map(shortest, self.thresholds)
        if not further:
            return f"bad (percent) = error > {main} px{share}"
        columns = ", ".join(f"bad{threshold}" for threshold in further)
        main_text = f"error > {main} px (columns bad_pixels)"
        further_text = f"{', '.join(further)} px (columns {columns})"
        return f"bad (percent) = {main_text}, {further_text}{share}"

    def _depth_text(self) -> str:
        metric = "the scene's focal length * baseline / (disparity + doffs + mu)"
        depth = "1 / (disparity + mu)" if self.depth_scale == "one" else metric
        return f"depth = {depth}, mu {shortest(self.depth_offset)} px, missing estimates: {self.depth_missing}"

    def _region_text(self) -> str:
        side = self.textureless_width
        window = f"averaged over {side}x{side}" if side > 1 else "of one pixel"
        return (
            f"textured, textureless, discont without occluded pixels; occlusions and discontinuities: gap {shortest(self.disparity_gap)} px; "
            f"textureless: squared horizontal difference {window} < {shortest(self.textureless_threshold)}^2; "
            f"discont: {self.discontinuity_width}x{self.discontinuity_width} window"
        )

    def _prediction_text(self) -> str:
        if self.prediction == "none":
            return "no predicted views"
        drawn = "" if self.prediction == "inverse" or self.prediction_lines else " of single pixels"
        holes = "grey holes count as 255" if self.count_grey_holes else "holes do not count"
        return f"{self.prediction} prediction{drawn}: rms in grey levels, partial shuffle {shortest(self.partial_shuffle)}, {holes}"


def grouped(metrics: tuple[str, ...]) -> tuple[str, ...]:
    """The same metrics, with the name of a group in the place of its members where all of them are present."""
    for group, names in GROUPS.items():
        if set(names) <= set(metrics):
            metrics = tuple(dict.fromkeys(group if name in names else name for name in metrics))
    return metrics
