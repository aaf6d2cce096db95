"""The number of threads that kernels use, set by the user."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from stereo_framework.core.arguments import checked
from stereo_framework.core.parameters import PositiveInt
from stereo_framework.kernels import threads as kernel_threads


@checked()
def threads(count: PositiveInt) -> AbstractContextManager[Any]:
    """Let the kernels called inside the block use `count` threads.

    The default is one thread per available core. Results do not depend on the number.

    Raises
    ------
    ParameterError
        `count` is not a whole number, or it is less than 1.

    Examples
    --------
    >>> import stereo_framework
    >>> with stereo_framework.threads(1):
    ...     pass
    """
    return kernel_threads.threads(count)
