"""The rule by which optimizers stop before they have made all their iterations."""

from collections.abc import Sequence
from typing import Annotated

from annotated_types import Ge, Lt

MinDecrease = Annotated[float, Ge(0), Lt(1)] | None
"""Share of the energy by which iterations must lower it; None: no iteration must."""

PERIOD = 10
"""Number of iterations whose decrease of the energy is judged together."""


def lowers_too_little(
    energies: Sequence[float], min_decrease: float | None, *, period: int = PERIOD
) -> bool:
    """Return whether the last iterations have lowered the lowest energy too little.

    Energies of messages may rise for some iterations. Therefore the lowest energy of
    all iterations is compared with the lowest energy of all but the last `period`.

    Parameters
    ----------
    energies : sequence of float
        Energy after each iteration so far, the first value possibly that of the start.
    min_decrease : float or None
        Largest decrease that is too little, as a share of the earlier energy. None: no
        decrease is too little.
    period : int
        Number of iterations that are judged together. The answer is False unless the
        iterations so far are a multiple of this number.

    Returns
    -------
    bool

    Examples
    --------
    >>> energies = [100.0, 80.0, 90.0, 79.99]
    >>> lowers_too_little(energies, 0.001, period=2)
    True
    >>> lowers_too_little(energies, 0.0001, period=2)
    False
    """
    count = len(energies)
    if min_decrease is None or count <= period or count % period != 0:
        return False
    earlier = min(energies[:-period])
    decrease = earlier - min(energies)
    return decrease <= min_decrease * abs(earlier)
