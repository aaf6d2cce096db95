"""Repeat a filter on a volume with two buffers."""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.scene import read_only
from stereo_framework.kernels.progress import counted
from stereo_framework.kernels.threads import over_rows

Kernel = Callable[[NDArray[np.float32], int, NDArray[np.float32]], None]
"""``kernel(source, start, out)`` writes the rows of a result from `start` on."""


def iterate(kernel: Kernel, costs: NDArray[np.float32], iterations: int) -> NDArray[np.float32]:
    """Apply `kernel` to `costs`, then to its result, and so on; the input stays as it is. Two halves in turn give the whole."""
    source, out = costs, np.empty_like(costs)
    spare = np.empty_like(costs) if iterations > 1 else out
    for _ in counted(iterations, "iteration"):
        over_rows(
            functools.partial(_rows, kernel, read_only(source), out), costs.shape[0], costs.size
        )
        source, out = out, spare if source is costs else source
    return source


def _rows(
    kernel: Kernel, source: NDArray[np.float32], out: NDArray[np.float32], start: int, stop: int
) -> None:
    kernel(source, start, out[start:stop])
