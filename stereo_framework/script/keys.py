"""The keys of a script that are no stages: what may stand under them, and what they mean; `reading.expect_mapping` refuses others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from stereo_framework.core.parameters import NonNegative, NonNegativeInt, parameters_of
from stereo_framework.core.stage import SLOTS
from stereo_framework.script.reading import is_number, must_be

_PIXELS = "a finite number of pixels"
Pixels = Annotated[float, must_be(_PIXELS, is_number)]
# That it is above 0, and a whole number or one over it, `Search` says better.
Step = Annotated[float, must_be(_PIXELS, is_number, lambda own: own | {"exclusiveMinimum": 0})]


@dataclass(frozen=True)
class SearchKeys:
    """Disparity range instead of the scene's own, or parts of it.

    Parameters
    ----------
    minimum : float
        Smallest disparity tried, pixels.
    maximum : float
        Largest disparity tried, pixels; included.
    step : float
        Distance of neighbouring levels, pixels: N or 1/N.
    truth_margin : float
        Bounds that are not given: those of the true disparities, widened to both sides by this share of their range.
    """

    minimum: Pixels = 0
    maximum: Pixels = 0
    step: Step = 1
    truth_margin: NonNegative = 0


@dataclass(frozen=True)
class SeedKey:
    """What the stages' random numbers begin with.

    Parameters
    ----------
    seed : int
        Seed of the stages that draw random numbers and have none of their own.
    """

    seed: NonNegativeInt = 0


SEARCH = tuple(parameters_of(SearchKeys))
ALTERNATIVE_KEYS = ("include", *SLOTS, "alternatives")
METHOD_KEYS = (*ALTERNATIVE_KEYS, "maps", "sweep", "seed", "search")
KEYS = ("name", "plugins", "scenes", "evaluation", "methods", "report", *METHOD_KEYS)
