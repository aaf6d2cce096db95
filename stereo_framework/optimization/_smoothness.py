"""The smoothness term as optimizers of the whole energy take it."""

import numpy as np
from numpy.typing import NDArray

from stereo_framework.stages import ParameterError, Smoothness

_MISSING = (
    "the energy has no smoothness term, so every pixel would stand alone; "
    "give one (smoothness: potts, linear, truncated_linear or truncated_quadratic) or use winner_take_all"
)


def no_smoothness(smoothness: str | None) -> str | None:
    """Why an optimizer cannot do without a smoothness term, where a script names none."""
    return _MISSING if smoothness is None else None


def required_smoothness(smoothness: Smoothness | None, stage: str) -> Smoothness:
    """The smoothness term of a stage that needs one.

    Raises
    ------
    ParameterError
        There is none, or it holds what is negative or not finite.
    """
    if smoothness is None:
        raise ParameterError(f"{stage}: {_MISSING}")
    for name, array in vars(smoothness).items():
        if not (np.isfinite(array).all() and array.min() >= 0):
            raise ParameterError(
                f"{stage}: smoothness.{name} holds {array.min():g}; all must be finite and >= 0"
            )
    if smoothness.rho[0] != 0:
        raise ParameterError(
            f"{stage}: smoothness.rho[0] is {smoothness.rho[0]:g}; the penalty of no difference must be 0"
        )
    return smoothness


def edge_weights(smoothness: Smoothness) -> NDArray[np.float32]:
    """Weights of each pixel's edges to the right, left, lower and upper neighbour, 0 where there is none; (rows, columns, 4)."""
    weights = np.zeros((*smoothness.right.shape, 4), np.float32)
    weights[:, :-1, 0] = weights[:, 1:, 1] = smoothness.right[:, :-1]
    weights[:-1, :, 2] = weights[1:, :, 3] = smoothness.down[:-1]
    return weights


def reach_of(rho: NDArray[np.float32]) -> int:
    """The level difference, at least 1, from which on all cost the same, the most of all: of those only the best level counts."""
    return int(np.flatnonzero(rho != rho.max()).max(initial=0)) + 1


def differences_of(rho: NDArray[np.float32]) -> NDArray[np.float32]:
    """rho(k - l) for all levels k: those of a level l stand from place ``levels - 1 - l`` on."""
    return np.concatenate([rho[:0:-1], rho])
