"""The option ``--threads``: the number of threads in which a command computes."""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from stereo_framework.cli._shared import refuse_without_effect
from stereo_framework.core.errors import ParameterError
from stereo_framework.kernels.cores import available_cores
from stereo_framework.kernels.threads import threads

_OPENMP_VARIABLE = "OMP_NUM_THREADS"
_OPENCV_VARIABLE = "OPENCV_FOR_THREADS_NUM"
"""Environment variables that OpenMP and OpenCV read when they are loaded."""


def check_threads(count: int | None, options: Mapping[str, Any]) -> None:
    """Refuse a number of threads that contradicts other options of the command.

    Parameters
    ----------
    count : int, optional
        Value of ``--threads``.
    options : mapping
        Values of the command's options by their names.

    Raises
    ------
    ParameterError
        There are more workers than threads, or the option ``--dask`` is set.
    """
    if count is None:
        return
    refuse_without_effect(
        "with --dask, whose workers use one thread each",
        {"--threads": options.get("dask") is not None},
    )
    workers = options.get("workers")
    if workers is not None and workers > count:
        message = (
            f"--workers {workers}: is more than --threads {count}, and each worker needs a thread; "
            f"write --workers {count}, or leave --workers out"
        )
        raise ParameterError(message)


@contextlib.contextmanager
def limited_threads(count: int | None) -> Iterator[None]:
    """Limit the threads of kernels, OpenCV and started programs within the block.

    Parameters
    ----------
    count : int, optional
        Maximum number of threads. By default, only OpenCV is limited, to the number of
        available cores, because OpenCV does not read all the limits that `available_cores`
        reads. If the environment already limits OpenCV, this limit stays.
    """
    variables: dict[str, str] = {}
    if count is not None:
        variables = {_OPENMP_VARIABLE: str(count), _OPENCV_VARIABLE: str(count)}
    elif _OPENCV_VARIABLE not in os.environ:
        variables = {_OPENCV_VARIABLE: str(available_cores())}

    with contextlib.ExitStack() as stack:
        stack.enter_context(_environment_variables(variables))
        if count is not None:
            stack.enter_context(_threads_of_loaded_opencv(count))
            stack.enter_context(threads(count))
        yield


@contextlib.contextmanager
def _environment_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the block."""
    earlier_values = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in earlier_values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def _threads_of_loaded_opencv(count: int) -> Iterator[None]:
    """Limit the threads of OpenCV within the block, if OpenCV is already loaded.

    A loaded OpenCV does not read its environment variable again.
    """
    cv2 = sys.modules.get("cv2")
    if cv2 is None:
        yield
        return
    earlier_count = cv2.getNumThreads()
    cv2.setNumThreads(count)
    try:
        yield
    finally:
        cv2.setNumThreads(earlier_count)
