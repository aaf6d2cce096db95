"""Conversion of configurations of Pandora.

Pandora 1.9 is the stereo matcher of CNES. Its configuration is a JSON object with the
keys ``input`` and ``pipeline``. Pandora matches the pixel x of the left image with the
pixel x + d of the right image, so its disparities have the opposite sign of ours.
"""

import json
import math
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stereo_framework.core import limits
from stereo_framework.core.errors import DataError, ParameterError, nearest, short
from stereo_framework.io import file_stem, read_bytes

Report = Callable[[str], None]
"""Function that gets a message about each part that cannot be converted."""

_SHOWN_VALUE_LENGTH = 60
"""Maximum length of a value in a message."""


def is_json(path: Path) -> bool:
    """Return whether a file begins like a JSON object.

    No script of the original program of 2002 begins with a brace.
    """
    content = read_bytes(path, limits.TEXT, allow_empty=True)
    return content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def convert_pandora(path: Path, report: Report) -> dict[str, Any]:
    """Convert a configuration of Pandora to one of our scripts.

    Parameters
    ----------
    path : Path
        Path of the JSON file.
    report : callable
        Function that gets a message ``key: message`` about each part of the
        configuration that cannot be converted, and about each part whose counterpart
        gives other results.

    Returns
    -------
    dict
        Script that the function `load` accepts. It names no scene.

    Raises
    ------
    DataError
        The file cannot be read, or it contains no JSON object with a pipeline.
    ParameterError
        A value is not allowed in Pandora, or the steps are in the wrong order.
    """
    configuration = _read_configuration(path, report)
    converter = _Converter(str(path), report)
    converter.convert_input(configuration.get("input", {}))
    converter.convert_pipeline(configuration["pipeline"])
    return {"name": file_stem(path.stem), **converter.script()}


# --- reading --------------------------------------------------------------------------


def _read_configuration(path: Path, report: Report) -> dict[str, Any]:
    """Return the JSON object of a file, which has a pipeline."""
    configuration = _parsed_json(path, report)
    if not isinstance(configuration, dict) or "pipeline" not in configuration:
        message = (
            f"{path}: the file is no configuration of Pandora, because it is no JSON object with "
            'the key "pipeline"; name a configuration of Pandora or a script of the 2002 program'
        )
        raise DataError(message)
    for key in configuration:
        if key not in ("input", "pipeline"):
            report(f"{short(key)}: Pandora 1.9 reads only 'input' and 'pipeline'; it is left out")
    return configuration


def _parsed_json(path: Path, report: Report) -> Any:
    """Return the content of a JSON file, and report repeated keys.

    Python's reader also accepts NaN and infinite numbers, as Pandora does.
    """

    def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for key, value in pairs:
            if key in content:
                report(f"{short(key)}: the key occurs twice; Pandora and the script use the last")
            content[key] = value
        return content

    content = read_bytes(path, limits.TEXT, allow_empty=True)
    try:
        return json.loads(content.decode("utf-8-sig"), object_pairs_hook=unique_keys)
    except json.JSONDecodeError as error:
        message = (
            f"{path}:{error.lineno}:{error.colno}: the text is not valid JSON: {error.msg}; "
            "correct this position of the configuration"
        )
    except (ValueError, RecursionError) as error:
        message = (
            f"{path}: the file cannot be read as JSON, because {short(str(error))}; "
            "write a JSON object in UTF-8"
        )
    raise DataError(message)


def _is_number(value: Any) -> bool:
    """Return whether a value is a finite number. Truth values are no numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # Whole numbers of JSON may be larger than all floats.
    return abs(value) <= sys.float_info.max


def _is_whole(value: Any) -> bool:
    """Return whether a value is a whole number in the notation of JSON."""
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> str:
    """Return a value in the notation of JSON, for a message."""
    return short(json.dumps(value), _SHOWN_VALUE_LENGTH)


def _pixels(number: int) -> str:
    """Return a number of pixels in words."""
    return "1 pixel" if number == 1 else f"{number} pixels"


@dataclass
class _Section:
    """An object of the configuration, which counts the keys that are read.

    Parameters
    ----------
    file : str
        Path of the file, for messages.
    location : str
        Keys that lead to the object, with dots between them.
    content : mapping
        Values by key.
    report : callable
        Function that gets messages about parts that cannot be converted.
    """

    file: str
    location: str
    content: Mapping[str, Any]
    report: Report
    known_keys: set[str] = field(default_factory=set)

    def note(self, key: str, message: str) -> None:
        """Report what a key of the object loses."""
        self.report(f"{self.location}.{key}: {message}")

    def error(self, key: str, expected: str) -> ParameterError:
        """Return the error that a value of the object is not the expected one."""
        value = _shown(self.content.get(key))
        message = (
            f"{self.file}: {self.location}.{key}: {value} is not {expected}; "
            f"write {expected} as Pandora expects it"
        )
        return ParameterError(message)

    def value(self, key: str, default: Any = None) -> Any:
        """Return a value, or the default if the key is missing."""
        self.known_keys.add(key)
        return self.content.get(key, default)

    def ignore(self, *keys: str) -> None:
        """Accept keys without a message, because they change no disparity."""
        self.known_keys.update(keys)

    def whole(self, key: str, default: int, *, minimum: int = 1, odd: bool = False) -> int:
        """Return a whole number that is not below the minimum."""
        value = self.value(key, default)
        kind = "an odd whole number" if odd else "a whole number"
        if not _is_whole(value) or value < minimum or (odd and value % 2 == 0):
            raise self.error(key, f"{kind} >= {minimum}")
        return int(value)

    def number(self, key: str, default: float, *, minimum: float = 0.0) -> float:
        """Return a finite number that is not below the minimum."""
        value = self.value(key, default)
        if not _is_number(value) or value < minimum:
            raise self.error(key, f"a number >= {minimum:g}")
        return float(value)

    def truth(self, key: str, default: bool) -> bool:
        """Return a truth value."""
        value = self.value(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def choice(self, key: str, choices: Collection[Any], default: Any = None) -> Any:
        """Return a value that is among the choices."""
        value = self.value(key, default)
        # A truth value equals 0 or 1, but Pandora expects a number.
        if isinstance(value, list | dict | bool) or value not in choices:
            raise self.error(key, f"one of {', '.join(map(_shown, choices))}")
        return value

    def report_unknown_keys(self) -> None:
        """Report the keys that have not been read."""
        for key in self.content:
            if key not in self.known_keys:
                remedy = nearest(key, self.known_keys, kind="keys")
                self.note(short(key), f"Pandora has no such key here; it is left out; {remedy}")


# --- conversion -----------------------------------------------------------------------

_COST_STEPS = (
    "aggregation",
    "semantic_segmentation",
    "optimization",
    "cost_volume_confidence",
    "disparity",
)
_MAP_STEPS = ("filter", "refinement", "validation", "multiscale")
_KINDS = ("matching_cost", *_COST_STEPS, *_MAP_STEPS)
"""Kinds of steps. A step has the name of its kind, or this name, a dot and a word."""

_COST_METHODS = ("census", "sad", "ssd", "zncc", "mc_cnn")
_CENSUS_SIZES = (3, 5, 7, 9, 11, 13)
_SUBPIXEL_FACTORS = (1, 2, 4)
_MIN_CORRELATION_SIZE = 2
_HALVING = 2
_MAX_ARM = 255

_MAPS_OF_INPUT = {
    "mask": "give it to 'stereo-framework match --mask'",
    "classif": "there is no counterpart; methods that use classes lose them",
    "segm": "there is no counterpart; methods that use segments lose them",
    "edges": "there is no counterpart; methods that use edges lose them",
}
"""Images of the input that scripts cannot name, with the remedy."""

_CONFIDENCES_WITHOUT_COUNTERPART = {
    "std_intensity": ("standard deviations of intensities", ()),
    "risk": ("risks", ("eta_max", "eta_step")),
    "interval_bounds": (
        "intervals of disparities",
        (
            "possibility_threshold",
            "regularization",
            "ambiguity_indicator",
            "ambiguity_threshold",
            "ambiguity_kernel_size",
            "vertical_depth",
            "quantile_regularization",
        ),
    ),
}
"""Confidence methods: the words for their maps, and their keys."""

_FILTERS_WITHOUT_COUNTERPART = {
    "bilateral": (
        "no stage averages similar disparities, so the map is less smooth; "
        "the stages plane_smooth and weighted_median also smooth maps",
        ("sigma_color", "sigma_space"),
    ),
    "disparity_denoiser": (
        "no stage averages disparities along planes, so the map is less smooth; "
        "the stage plane_smooth also smooths maps",
        (
            "filter_size",
            "sigma_euclidian",
            "sigma_color",
            "sigma_planar",
            "sigma_grad",
            "band",
        ),
    ),
    "median_for_intervals": (
        "no stage estimates intervals of disparities; the disparities are those of Pandora",
        (
            "filter_size",
            "interval_indicator",
            "regularization",
            "ambiguity_indicator",
            "ambiguity_threshold",
            "ambiguity_kernel_size",
            "vertical_depth",
            "quantile_regularization",
        ),
    ),
}
"""Filters: the effect of their absence, and their keys."""


class _Converter:
    """Converter of the sections of a configuration, which collects the stages.

    Parameters
    ----------
    file : str
        Path of the file, for messages.
    report : callable
        Function that gets messages about parts that cannot be converted.
    """

    def __init__(self, file: str, report: Report):
        self._file = file
        self._report = report
        self._search: dict[str, Any] = {}
        self._matching_cost: dict[str, Any] = {}
        self._aggregation: list[dict[str, Any]] = []
        self._optimization: dict[str, Any] = {"use": "winner_take_all"}
        self._confidence: list[dict[str, Any]] = []
        self._refinement: list[dict[str, Any]] = []
        self._scheme: list[dict[str, Any]] = []
        self._window_size = 1
        self._is_optimized = False
        # The box filter of our scripts takes means of the costs, Pandora takes sums.
        self._pandora_cost_unit = 1

    def script(self) -> dict[str, Any]:
        """Return the script without empty keys."""
        script = {
            "search": self._search,
            "matching_cost": self._matching_cost,
            "aggregation": self._aggregation,
            "optimization": self._optimization,
            "confidence": self._confidence,
            "refinement": self._refinement,
            "scheme": self._scheme,
        }
        return {key: content for key, content in script.items() if content}

    def _section(self, location: str, content: Any) -> _Section:
        """Return an object of the configuration, or raise an error if it is none."""
        if not isinstance(content, dict):
            message = (
                f"{self._file}: {location}: {_shown(content)} is not a JSON object; "
                'write an object with keys, such as {"key": "value"}'
            )
            raise ParameterError(message)
        return _Section(self._file, location, content, self._report)

    # --- input ---

    def convert_input(self, content: Any) -> None:
        """Convert the search range, and report the images."""
        section = self._section("input", content)
        images = []
        for side in ("left", "right"):
            part = self._section(f"input.{side}", section.value(side, {}))
            images.append(part.value("img"))
            self._report_maps_of_input(part)
            if side == "left":
                self._convert_range(part)
            else:
                self._check_right_range(part)
            part.report_unknown_keys()
        section.report_unknown_keys()
        if any(image is not None for image in images):
            names = " ".join(short(str(image), _SHOWN_VALUE_LENGTH) for image in images)
            section.note(
                "left.img",
                "scripts name no image files; run "
                f"'stereo-framework match {names}{self._range_option()} --method SCRIPT'; "
                "values of 16-bit images are divided by 257",
            )

    def _range_option(self) -> str:
        """Return the option for the search range, which `match` ignores in scripts."""
        if not self._search:
            return ""
        return f" --disparities {self._search['minimum']}:{self._search['maximum']}"

    def _report_maps_of_input(self, part: _Section) -> None:
        """Report the masks and the marker of pixels without data."""
        for key, remedy in _MAPS_OF_INPUT.items():
            value = part.value(key)
            if value not in (None, "none"):
                part.note(key, f"scripts name no such image, so it is left out; {remedy}")
        marker = part.value("nodata", -9999)
        if marker != -9999:
            part.note(
                "nodata",
                f"pixels of the value {_shown(marker)} are matched like all others; "
                "exclude them with 'stereo-framework match --mask'",
            )

    def _convert_range(self, part: _Section) -> None:
        """Convert the search range, whose disparities change their sign."""
        ends = part.value("disp")
        if ends is None:
            part.note("disp", "there is no search range, so the range of the scene is searched")
            return
        if isinstance(ends, str):
            part.note(
                "disp",
                "scripts name no maps of search ranges, so the range of the scene is searched; "
                "give two maps to 'stereo-framework match --ranges'",
            )
            return
        minimum, maximum = self._ends(part, ends)
        self._search = {"minimum": -maximum, "maximum": -minimum}

    def _ends(self, part: _Section, ends: Any) -> tuple[int, int]:
        """Return the ends of a search range."""
        is_pair = isinstance(ends, list) and len(ends) == 2 and all(map(_is_whole, ends))
        if not is_pair or ends[0] > ends[1]:
            raise part.error("disp", "a list of two whole numbers in ascending order")
        return ends[0], ends[1]

    def _check_right_range(self, part: _Section) -> None:
        """Report a range of the right image that is not the mirrored left range."""
        ends = part.value("disp")
        if ends is None:
            return
        if isinstance(ends, str):
            part.note("disp", "Pandora 1.9 ignores this map, and so does the script")
            return
        minimum, maximum = self._ends(part, ends)
        # The right range of Pandora is the range of our left image.
        if self._search and {"minimum": minimum, "maximum": maximum} != self._search:
            part.note(
                "disp",
                f"both views are searched from {self._search['minimum']} to "
                f"{self._search['maximum']} pixels; Pandora needs mirrored ranges too",
            )

    # --- pipeline ---

    def convert_pipeline(self, content: Any) -> None:
        """Convert the steps in their order."""
        pipeline = self._section("pipeline", content)
        converters = {
            "matching_cost": self._convert_matching_cost,
            "aggregation": self._convert_aggregation,
            "semantic_segmentation": self._convert_segmentation,
            "optimization": self._convert_optimization,
            "cost_volume_confidence": self._convert_confidence,
            "disparity": self._convert_disparity,
            "refinement": self._convert_refinement,
            "filter": self._convert_filter,
            "validation": self._convert_validation,
            "multiscale": self._convert_multiscale,
        }
        kinds: list[str] = []
        for name, parameters in pipeline.content.items():
            kind = name.split(".")[0]
            if kind not in converters:
                remedy = nearest(kind, _KINDS, kind="steps")
                pipeline.note(short(name), f"Pandora has no such step; it is left out; {remedy}")
                continue
            self._check_order(name, kind, kinds)
            kinds.append(kind)
            step = self._section(f"pipeline.{name}", parameters)
            converters[kind](step)
            step.report_unknown_keys()
        self._check_completeness(kinds)

    def _check_order(self, name: str, kind: str, earlier_kinds: list[str]) -> None:
        """Refuse a step that Pandora does not accept at its place."""
        if kind == "matching_cost":
            is_allowed = not earlier_kinds
            place = "before all other steps, and only once"
        elif kind in _MAP_STEPS:
            is_allowed = "disparity" in earlier_kinds
            place = "after the step disparity"
        else:
            is_allowed = bool(earlier_kinds) and "disparity" not in earlier_kinds
            place = "after the step matching_cost and before the step disparity"
        if not is_allowed:
            message = (
                f"{self._file}: pipeline.{short(name)}: the step is at a place that Pandora does "
                f"not accept; move it {place}"
            )
            raise ParameterError(message)

    def _check_completeness(self, kinds: list[str]) -> None:
        """Refuse a pipeline without costs, and report a missing step disparity."""
        if not kinds:
            message = (
                f"{self._file}: pipeline: there is no step matching_cost; write this step, with "
                f"one of the methods {', '.join(_COST_METHODS)}"
            )
            raise ParameterError(message)
        if "disparity" not in kinds:
            self._report(
                "pipeline: there is no step disparity, so Pandora ends with costs; "
                "the script still selects disparities"
            )

    # --- costs ---

    def _convert_matching_cost(self, step: _Section) -> None:
        """Convert the matching cost with its window."""
        method = step.choice("matching_cost_method", _COST_METHODS)
        interpolation = self._interpolation(step)
        self._convert_spacing(step, method)
        self._report_band(step)
        if method in ("sad", "ssd"):
            self._convert_window_of_differences(step, method, interpolation)
        elif method == "zncc":
            self._convert_correlation(step, interpolation)
        else:
            self._convert_census(step, method, interpolation)
        if self._window_size > 1:
            border = _pixels(self._window_size // 2)
            step.note(
                "window_size",
                f"Pandora excludes windows that leave an image, so a border of {border} has no "
                "disparity; the script repeats border pixels, and chooses other matches near the "
                "left border",
            )

    def _interpolation(self, step: _Section) -> str:
        """Return the interpolation between the pixels of the match image."""
        order = step.whole("spline_order", 1)
        if order == 1:
            return "linear"
        step.note(
            "spline_order",
            f"there are no splines of order {order}; the script interpolates with cubic "
            "polynomials of four samples, so costs between pixels differ",
        )
        return "cubic"

    def _convert_spacing(self, step: _Section, method: str) -> None:
        """Convert the distance of neighbouring disparities."""
        factor = step.choice("subpix", _SUBPIXEL_FACTORS, default=1)
        if factor > 1:
            self._search["step"] = 1 / factor
            if method in ("sad", "ssd"):
                step.note(
                    "subpix",
                    "the script rounds interpolated intensities of 8-bit images to whole grey "
                    "levels, so costs between pixels differ by up to half a grey level",
                )
        if step.value("step", 1) != 1:
            step.note("step", "only Pandora2D skips columns; the script estimates all pixels")

    def _report_band(self, step: _Section) -> None:
        """Report the choice of a channel."""
        band = step.value("band")
        if band is not None:
            step.note(
                "band",
                f"the script compares all channels instead of {_shown(band)}; "
                "convert the images to this channel before matching",
            )

    def _convert_window_of_differences(
        self, step: _Section, method: str, interpolation: str
    ) -> None:
        """Convert sums of absolute or squared differences."""
        self._window_size = step.whole("window_size", 5, odd=True)
        stage = {"sad": "absolute_difference", "ssd": "squared_difference"}[method]
        self._matching_cost = {"use": stage, "interpolation": interpolation}
        if self._window_size > 1:
            self._aggregation.append({"use": "box", "size": self._window_size})
            self._pandora_cost_unit = self._window_size**2

    def _convert_correlation(self, step: _Section, interpolation: str) -> None:
        """Convert normalized correlation."""
        self._window_size = step.whole("window_size", 5, odd=True)
        if self._window_size < _MIN_CORRELATION_SIZE:
            raise step.error("window_size", "an odd whole number >= 3")
        self._matching_cost = {
            "use": "normalized_cross_correlation",
            "size": self._window_size,
            "form": "standard",
            "interpolation": interpolation,
        }

    def _convert_census(self, step: _Section, method: str, interpolation: str) -> None:
        """Convert census, which also replaces the networks of plug-ins."""
        default_size = 5
        if method == "mc_cnn":
            default_size = 11
            step.ignore("model_path", "model_name", "device")
            step.note(
                "matching_cost_method",
                "no network belongs to the package, so the script uses census instead; "
                "costs and disparities differ everywhere",
            )
        self._window_size = step.choice("window_size", _CENSUS_SIZES, default=default_size)
        self._matching_cost = {
            "use": "census",
            "width": self._window_size,
            "height": self._window_size,
            "interpolation": interpolation,
        }
        if method == "census":
            step.note(
                "matching_cost_method",
                "bits of Pandora mark brighter pixels and those of the script darker ones, so "
                "costs differ at pixels whose windows contain equal intensities",
            )

    def _convert_aggregation(self, step: _Section) -> None:
        """Convert cross-based aggregation."""
        step.choice("aggregation_method", ("cbca",))
        arm = step.whole("cbca_distance", 5)
        tau = step.number("cbca_intensity", 30.0)
        if tau <= 0:
            raise step.error("cbca_intensity", "a number > 0")
        if self._is_optimized:
            step.note(
                "aggregation_method",
                "scripts cannot aggregate costs after the optimization; the step is left out",
            )
            return
        if arm > _MAX_ARM:
            step.note("cbca_distance", f"arms of the script end at {_MAX_ARM} pixels")
            arm = _MAX_ARM
        # The far arm has the length of the arm itself, so only one threshold acts.
        stage = {"use": "cross_based", "max_arm": arm, "tau": tau, "far_arm": arm, "tau_far": tau}
        self._aggregation.append({**stage, "views": "both", "iterations": 1})
        step.note(
            "aggregation_method",
            "Pandora smooths the images with a 3x3 median before it grows the arms, and arms have "
            "at least one pixel; arms of the script also end between unlike neighbours",
        )

    def _convert_segmentation(self, step: _Section) -> None:
        """Report that there is no semantic segmentation."""
        step.ignore(*step.content)
        step.note(
            "segmentation_method",
            "there is no semantic segmentation, so optimizations get no segments",
        )

    # --- optimization ---

    def _convert_optimization(self, step: _Section) -> None:
        """Convert semi-global matching."""
        method = step.choice("optimization_method", ("sgm", "3sgm"))
        step.ignore("sgm_version")
        self._is_optimized = True
        if method == "3sgm":
            step.ignore("geometric_prior")
            step.note(
                "optimization_method",
                "there are no segments in optimizations, so the script uses semi-global matching "
                "without them; penalties also act at the borders of segments",
            )
        if self._window_size == 1:
            step.note(
                "optimization_method",
                "Pandora excludes matches outside the right image; path costs of the script pass "
                "through them, so disparities near the left border differ",
            )
        self._report_options_of_paths(step)

        # Without the object, other penalties hold than in an object without P1 and P2.
        penalties = step.value("penalty", {"penalty_method": "sgm_penalty", "P1": 4, "P2": 20})
        section = self._section(f"{step.location}.penalty", penalties)
        kinds = ("sgm_penalty", "mc_cnn_fast_penalty")
        if section.choice("penalty_method", kinds) == "sgm_penalty":
            stage = self._penalties(section)
        else:
            stage = self._penalties_of_networks(section)
        section.report_unknown_keys()
        self._optimization = {"use": "semi_global", "paths": 8, **stage}

    def _report_options_of_paths(self, step: _Section) -> None:
        """Report options of the optimization without a counterpart."""
        if step.truth("overcounting", False):
            step.note(
                "overcounting",
                "the script adds up the paths without this correction, so the cost of the pixel "
                "itself counts eight times",
            )
        if step.truth("min_cost_paths", False):
            step.note("min_cost_paths", "the script stores no number of paths per pixel")
        if step.value("use_confidence") is not None:
            step.note(
                "use_confidence",
                "the script does not multiply costs by a confidence, so ambiguous pixels keep "
                "the full weight of their costs",
            )

    def _base_penalties(self, section: _Section, p1: float, p2: float) -> dict[str, Any]:
        """Return both penalties in the unit of our costs."""
        small_penalty = section.number("P1", p1)
        large_penalty = section.number("P2", p2)
        if small_penalty <= 0:
            raise section.error("P1", "a number > 0")
        if large_penalty <= small_penalty:
            raise section.error("P2", f"a number > P1 = {small_penalty:g}")
        unit = self._pandora_cost_unit
        return {"p1": small_penalty / unit, "p2": large_penalty / unit}

    def _penalties(self, section: _Section) -> dict[str, Any]:
        """Return the penalties of semi-global matching."""
        stage = self._base_penalties(section, 8, 32)
        methods = ("constant", "negativeGradient", "inverseGradient")
        method = section.choice("p2_method", methods, default="constant")
        alpha = section.number("alpha", 1.0)
        beta = section.number("beta", 1)
        gamma = section.number("gamma", 1)
        p2 = stage["p2"] * self._pandora_cost_unit
        largest_penalty = gamma
        if method == "inverseGradient":
            if beta <= 0:
                raise section.error("beta", "a number > 0")
            largest_penalty += alpha / beta
        # P2 is the lower limit of all penalties, so smaller ones have no effect.
        if method == "constant" or largest_penalty <= p2:
            return stage
        if method == "negativeGradient":
            section.note(
                "p2_method",
                f"the script has the constant penalty P2 = {p2:g}; that of Pandora is "
                f"{largest_penalty:g} in uniform areas and decreases with the gradient",
            )
            return stage
        stage["p2"] = (gamma + alpha / (1 + beta)) / self._pandora_cost_unit
        stage["p2"] = max(stage["p2"], stage["p1"])
        section.note(
            "p2_method",
            f"the script divides a penalty by the gradient, down to P1; that of Pandora is "
            f"{alpha:g} / (gradient + {beta:g}) + {gamma:g}, down to P2 = {p2:g}",
        )
        return {**stage, "penalties": "gradient"}

    def _penalties_of_networks(self, section: _Section) -> dict[str, Any]:
        """Return the penalties that depend on edges in both images."""
        stage = self._base_penalties(section, 2.3, 42.3)
        threshold = section.number("D", 0.08)
        one_edge = section.number("Q1", 3)
        both_edges = one_edge * section.number("Q2", 6)
        vertical = section.number("V", 1.5)
        section.note(
            "penalty_method",
            f"at edges the script divides penalties by 4 and 10, and Pandora by {one_edge:g} and "
            f"{both_edges:g}; Pandora divides P1 of vertical paths by {vertical:g} in addition",
        )
        return {**stage, "penalties": "edges", "edge_threshold": threshold}

    # --- confidence and disparities ---

    def _convert_confidence(self, step: _Section) -> None:
        """Convert the ambiguity, and report other measures."""
        methods = ("ambiguity", *_CONFIDENCES_WITHOUT_COUNTERPART)
        method = step.choice("confidence_method", methods)
        step.ignore("indicator")
        if method != "ambiguity":
            noun, keys = _CONFIDENCES_WITHOUT_COUNTERPART[method]
            step.ignore(*keys)
            step.note(
                "confidence_method",
                f"the script computes no maps of {noun}; disparities do not depend on them",
            )
            return
        largest_excess = step.number("eta_max", 0.7)
        if not 0 < largest_excess < 1:
            raise step.error("eta_max", "a number between 0 and 1")
        step.number("eta_step", 0.01)
        step.truth("normalization", True)
        stage = {"use": "ambiguity", "eta_max": largest_excess}
        if self._confidence:
            self._confidence = []
            step.note("confidence_method", "the script computes only this map of ambiguity")
        self._confidence.append(stage)
        step.note(
            "confidence_method",
            "the script measures the costs after all steps, without steps of eta and without "
            "normalization, so values differ",
        )

    def _convert_disparity(self, step: _Section) -> None:
        """Convert the choice of disparities and report the marker of missing ones."""
        step.choice("disparity_method", ("wta",))
        marker = step.value("invalid_disparity", -9999)
        is_nan = marker == "NaN" or (isinstance(marker, float) and math.isnan(marker))
        if not is_nan:
            if not _is_number(marker):
                raise step.error("invalid_disparity", 'a number or "NaN"')
            step.note(
                "invalid_disparity",
                f"maps of the script mark missing disparities in their own format, not by {marker}",
            )
        step.note(
            "disparity_method",
            "of equal costs Pandora takes the nearest surface and the script the farthest one",
        )

    # --- maps ---

    def _convert_refinement(self, step: _Section) -> None:
        """Convert the refinement below a level."""
        method = step.choice("refinement_method", ("vfit", "quadratic"))
        stage = {"vfit": "equiangular", "quadratic": "parabola"}[method]
        earlier_stages = [entry["use"] for entry in self._refinement]
        if "equiangular" in earlier_stages or "parabola" in earlier_stages:
            step.note(
                "refinement_method",
                "disparities between levels are refined only once, so the step is left out",
            )
            return
        self._refinement.append({"use": stage})

    def _convert_filter(self, step: _Section) -> None:
        """Convert the median, and report other filters."""
        methods = ("median", *_FILTERS_WITHOUT_COUNTERPART)
        method = step.choice("filter_method", methods)
        if method == "median":
            size = step.whole("filter_size", 3, odd=True)
            self._refinement.append({"use": "median", "size": size})
            step.note(
                "filter_method",
                "next to missing disparities, the median of an even number is the lower one of "
                "the two in the middle; Pandora takes their mean",
            )
            return
        effect, keys = _FILTERS_WITHOUT_COUNTERPART[method]
        step.ignore(*keys)
        step.note("filter_method", effect)

    def _convert_validation(self, step: _Section) -> None:
        """Convert the left-right check and the interpolation."""
        methods = ("cross_checking_accurate", "cross_checking_fast")
        method = step.choice("validation_method", methods)
        tolerance = step.number("cross_checking_threshold", 1.0)
        stage = {
            "cross_checking_accurate": "left_right_check",
            "cross_checking_fast": "left_right_check_fast",
        }[method]
        self._refinement.append({"use": stage, "tolerance": tolerance})
        if method == "cross_checking_fast":
            step.note(
                "validation_method",
                "the right map of the script consists of whole levels without refinement and "
                "filters, so disparities near the threshold are judged differently",
            )
        rule = step.value("interpolated_disparity")
        if rule is None:
            step.note(
                "validation_method",
                "the script removes the disparities that fail; Pandora keeps them in its map and "
                "marks them in its validity mask",
            )
            return
        step.choice("interpolated_disparity", ("sgm", "mc-cnn"))
        self._convert_interpolation(step, rule)

    def _convert_interpolation(self, step: _Section, rule: str) -> None:
        """Convert the interpolation of the removed disparities."""
        if rule == "sgm":
            self._refinement.append({"use": "interpolate", "rule": "hirschmueller"})
            step.note(
                "interpolated_disparity",
                "the script treats whole mismatched areas next to occlusions as occluded, Pandora "
                "only the pixels next to them; it fills the missing left border too",
            )
            return
        self._refinement.append({"use": "interpolate", "rule": "mei"})
        step.note(
            "interpolated_disparity",
            "in 16 directions the script takes the lowest disparity for occluded pixels and the "
            "most similar pixel for mismatched ones; Pandora takes the nearest one to the left "
            "and the median",
        )

    def _convert_multiscale(self, step: _Section) -> None:
        """Convert the pyramid."""
        step.choice("multiscale_method", ("fixed_zoom_pyramid",))
        octaves = step.whole("num_scales", 2, minimum=2)
        factor = step.whole("scale_factor", 2, minimum=2)
        margin = step.whole("marge", 1, minimum=0)
        if factor != _HALVING:
            step.note(
                "scale_factor",
                f"each size of the script is half of the next one instead of 1/{factor}, "
                "so smaller images have more pixels",
            )
        # Pandora widens the ranges before it enlarges them.
        stage = {"use": "pyramid", "octaves": octaves, "margin": margin * _HALVING}
        self._scheme.append({**stage, "size": self._window_size})
        step.note(
            "multiscale_method",
            "the images are made smaller by other filters, and all steps run at every size, so "
            "ranges of some pixels differ",
        )
