"""Number of threads for the computation."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from stereo_framework.core.arguments import checked
from stereo_framework.core.parameters import PositiveInt
from stereo_framework.kernels import threads as kernel_threads


@checked()
def threads(count: PositiveInt) -> AbstractContextManager[Any]:
    """Use `count` threads for kernels in a ``with`` block.

    By default, kernels use one thread per processor core. The results of matching do
    not depend on the number of threads.

    Raises
    ------
    ParameterError
        `count` is not a whole number of 1 or more.

    Examples
    --------
    >>> import stereo_framework
    >>> with stereo_framework.threads(1):
    ...     pass
    """
    return kernel_threads.threads(count)
