"""The positions of values on an axis: numbers to scale or side by side, and null as "none" at the right end."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from stereo_framework.core.errors import ParameterError
from stereo_framework.tables.values import is_number, word

_GAP = 0.18
"""Distance of "none" from the last number, as a share of the width of the axis."""


class Positions:
    """Coordinates of the values of an axis.

    Parameters
    ----------
    values : iterable
        Numbers, texts, booleans, None.
    scale : str
        ``linear``, ``log`` or ``category``. If some values are not numbers, it is a category in any case.
    labels : mapping of str to str
        Labels that replace values.

    Raises
    ------
    ParameterError
        The scale is logarithmic and a number is not above 0.
    """

    def __init__(self, values: Iterable[Any], scale: str, labels: Mapping[str, str]):
        different = list(dict.fromkeys(values))
        numbers: list[Any] = sorted(v for v in different if is_number(v))
        names = [v for v in different if v is not None and not is_number(v)]
        self.ordered = not names
        """Whether the values have an order, so that a line may join neighbours."""
        to_scale = self.ordered and bool(numbers) and scale != "category"
        log = to_scale and scale == "log"
        if log and numbers[0] <= 0:
            raise ParameterError(f"x_scale: log: {numbers[0]:g} is not above 0")
        places = (math.log(v) if log else float(v if to_scale else i) for i, v in enumerate([*numbers, *names]))
        found = dict(zip([*numbers, *names], places, strict=True))
        low, high = min(found.values(), default=0.0), max(found.values(), default=0.0)
        self.none: float | None = None
        """Position between the last number and "none", where the scale ends; None if there is no such place."""
        if None in different:
            distance = _GAP * (high - low) if to_scale and high > low else 1.0
            found[None] = high + distance if found else 0.0
            self.none = found[None] - distance / 2 if to_scale else None
            high = found[None]
        margin = 0.05 * (high - low) if to_scale and high > low else 0.5
        self.limits = low - margin, high + margin
        self._found = found
        self._texts = {v: labels.get(word(v), word(v)) for v in found}

    def __getitem__(self, value: Any) -> float:
        return self._found[value]

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """The position and text of every value, from left to right."""
        return sorted((place, self._texts[value]) for value, place in self._found.items())

    def ticks_that_fit(self, characters: float) -> list[tuple[float, str]]:
        """The ticks that can be labelled without texts touching on an axis that is so many characters wide, the last one always; names are never left out."""
        scale = characters / (self.limits[1] - self.limits[0])
        chosen: list[tuple[float, str]] = []
        for place, text in reversed(self.ticks):
            if not self.ordered or not chosen or (chosen[0][0] - place) * scale >= (len(text) + len(chosen[0][1]) + 1) / 2:
                chosen.insert(0, (place, text))
        return chosen

    def are_crowded(self, characters: float) -> bool:
        """Whether names would touch, so that they must be written at an angle."""
        return not self.ordered and len(self._texts) * (1 + max(map(len, self._texts.values()))) > characters
