"""A table of scores, with one row for each method and one column for each measure on a scene."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError


@dataclass(frozen=True)
class Column:
    """One column of scores.

    Parameters
    ----------
    measure : str
        Such as ``bad_pixels_nonocc``.
    scene : str
        The scene on which it was measured; empty if the table does not say.
    better : str
        Whether ``"lower"`` or ``"higher"`` scores are better.
    """

    measure: str
    scene: str = ""
    better: Literal["lower", "higher"] = "lower"

    @property
    def name(self) -> str:
        """``SCENE:MEASURE``, or the measure alone."""
        return f"{self.scene}:{self.measure}" if self.scene else self.measure


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of several methods.

    Parameters
    ----------
    methods : tuple of str
        Names of the rows, all different.
    columns : tuple of Column
        All different.
    values : ndarray, float64, (methods, columns)
        NaN = no score. A table with holes can be kept, and made `complete`, but not ranked.

    Raises
    ------
    DataError
        The parts do not fit together, or a name occurs twice.
    """

    methods: tuple[str, ...]
    columns: tuple[Column, ...]
    values: NDArray[np.float64]

    def __post_init__(self) -> None:
        expected = (len(self.methods), len(self.columns))
        if self.values.shape != expected:
            raise DataError(
                f"scores have shape {self.values.shape}; {expected[0]} methods and {expected[1]} columns need {expected}"
            )
        for kind, names in (("method", self.methods), ("column", tuple(c.name for c in self.columns))):
            if twice := [name for name, times in Counter(names).items() if times > 1]:
                raise DataError(f"scores: the {kind} {twice[0]!r} occurs twice; each needs a name of its own")

    @property
    def scenes(self) -> tuple[str, ...]:
        """Scenes of the columns, without the empty one."""
        return tuple(dict.fromkeys(c.scene for c in self.columns if c.scene))

    def lower_is_better(self) -> NDArray[np.float64]:
        """A copy of the values, float64 ``(methods, columns)``, in which the columns where higher is better are negated.

        Raises
        ------
        DataError
            A score is NaN; the message names its row and column.
        """
        holes = np.argwhere(np.isnan(self.values))
        if len(holes):
            row, column = holes[0]
            more = f" (and {len(holes) - 1} more holes)" if len(holes) > 1 else ""
            raise DataError(
                f"method {self.methods[row]!r} has no score in column {self.columns[column].name!r}{more}; methods are ranked by complete tables"
            )
        signs = np.array([1.0 if c.better == "lower" else -1.0 for c in self.columns])
        return self.values * signs

    def select(self, columns: Sequence[int]) -> Scores:
        """The table with only these columns, which are given by their indices."""
        return replace(self, columns=tuple(self.columns[i] for i in columns), values=self.values[:, list(columns)])

    def complete(self) -> tuple[Scores, tuple[str, ...]]:
        """The table without the methods that lack a score, and the names of these methods."""
        whole: NDArray[np.bool_] = np.array(~np.isnan(self.values).any(axis=1))
        kept = tuple(name for name, good in zip(self.methods, whole, strict=True) if good)
        dropped = tuple(name for name, good in zip(self.methods, whole, strict=True) if not good)
        return replace(self, methods=kept, values=self.values[whole]), dropped
