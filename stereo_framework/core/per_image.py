"""The decorator `per_image`: what a function computes of one image is computed once in a walk (`engine/walk.py`), however many stages and settings ask."""

import contextvars
import functools
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np

from stereo_framework.kernels.context import holding

F = TypeVar("F", bound=Callable[..., Any])

_KEPT: contextvars.ContextVar[dict[Hashable, Any] | None] = contextvars.ContextVar("artefacts", default=None)


def keeping(kept: dict[Hashable, Any]) -> AbstractContextManager[Any]:
    """Within the block, functions under `per_image` keep their results in `kept` and find them there."""
    return holding(_KEPT, kept)


def kept_here() -> dict[Hashable, Any] | None:
    """Where functions under `per_image` keep their results at this moment; None outside of pipelines."""
    return _KEPT.get()


def per_image(function: F) -> F:
    """Memoize a function of one image and some parameters while a pipeline or a sweep walks through its stages.

    The image comes first and is known by its memory address, shape, strides and type; what is kept keeps it alive. Only read-only images are
    known, as a pipeline hands them out; for others, and outside of pipelines, the function is simply called. A local stage that uses such a
    function on slices of an image counts the artefact's reach in its halo; one whose artefact needs the whole image declares no halo.

    Examples
    --------
    >>> @per_image
    ... def brightest(image, *, channel: int = 0):
    ...     return image[..., channel].max()
    """

    @functools.wraps(function)
    def memoized(*arguments: Any, **parameters: Any) -> Any:
        kept, image = _KEPT.get(), arguments[0]
        if kept is None or not isinstance(image, np.ndarray) or image.flags.writeable:
            return function(*arguments, **parameters)
        about = image.__array_interface__["data"][0], image.shape, image.strides, image.dtype
        key = function, about, arguments[1:], tuple(sorted(parameters.items()))
        if key not in kept:
            kept[key] = image, function(*arguments, **parameters)
        return kept[key][1]

    return memoized  # type: ignore[return-value]
