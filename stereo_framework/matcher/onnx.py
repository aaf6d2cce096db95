"""Any network in the ONNX format as a matcher."""

from __future__ import annotations

import functools
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from stereo_framework.core.contents import content_digest_of
from stereo_framework.core.errors import (
    ParameterError,
    StereoFrameworkError,
    install_command,
    nearest,
)
from stereo_framework.kernels.threads import thread_count
from stereo_framework.matcher._external import existing, left_and_right, taken
from stereo_framework.matcher._onnx_files import model_files
from stereo_framework.stages import (
    Disparity,
    FilePath,
    Image,
    NonNegativeInt,
    Positive,
    PositiveInt,
    SearchRange,
    Unit,
    stage,
)

_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
_GREY = np.array([0.299, 0.587, 0.114])
"""Weights of red, green and blue in grey, of ITU-R BT.601."""


def _files(model: str) -> list[Path]:
    """List the model's file and the files that hold its weights."""
    missing_packages = [name for name in ("onnxruntime", "onnx") if find_spec(name) is None]
    if missing_packages:
        message = f"onnx needs {' and '.join(missing_packages)}: {install_command('onnx')}"
        raise ParameterError(message)
    [path] = existing("onnx.model", [model])
    return model_files(path)


@stage(
    "matcher",
    source="Whoever trained the network; its file in the format of Bai, Lu, Zhang et al. 2019 (ONNX)",
    files=_files,
)
def onnx(
    reference: Image,
    match: Image,
    search: SearchRange,
    *,
    model: FilePath = "",
    inputs: list[str] | None = None,
    output: str | None = None,
    channels: Literal["rgb", "bgr", "grey"] = "rgb",
    divisor: Annotated[Positive, Unit("grey levels")] = 1.0,
    mean: list[float] | float = 0.0,
    std: list[float] | float = 1.0,
    multiple: Annotated[PositiveInt, Unit("pixels")] = 32,
    disparity_scale: Positive = 1.0,
    sign: Literal[1, -1] = 1,
    output_channel: NonNegativeInt = 0,
    device: Literal["cpu", "cuda"] = "cpu",
) -> Disparity:
    """Match with a network in an ONNX file, run by onnxruntime.

    There is no time limit: onnxruntime cannot be stopped from outside, so a network
    with a loop that never ends runs until the program is ended. To set a time limit,
    run the network in a program of its own with the stage `command`.

    Parameters
    ----------
    reference, match : ndarray, uint8 or float32, (rows, columns) or (rows, columns, 3)
        Intensities 0..255. The network sees (intensity / divisor - mean) / std, (1, channels, rows, columns). Where the match frame lies to the left of
        the reference frame both are mirrored, and so is the output.
    search : SearchRange
        Not used: the network has its own range.
    model : str
        The file; its path starts at the script's folder. Files with weights, which the model names, lie in its folder or below; their content is part of
        a run's identity, as the model's is.
    inputs : list or None
        Names of the inputs that take the left and the right image; a single input takes both, concatenated as channels. null: the model's own, in
        their order.
    output : str or None
        Name of the output that holds disparities; null: the model's last, which is the finest of networks that refine.
    channels : str
        Order of colours, or "grey": one channel.
    divisor : float
        Number by which intensities are divided first, in grey levels; 255 for networks
        that expect 0..1.
    mean, std : float or list
        Mean that is subtracted next, and standard deviation by which the result is
        divided, as for ``Normalize`` of torchvision: one number, or one for each
        channel in the network's order.
    multiple : int
        The network gets images whose rows and columns are multiples of this, in pixels; they are extended to the right and below by copies of their
        outermost pixels, and the result is cropped again.
    disparity_scale : float
        Units of the output per pixel of disparity.
    sign : int
        -1 for networks whose output is the flow of the left image, the negative of disparity.
    output_channel : int
        Index of the channel of the output that holds disparities.
    device : str
        What onnxruntime computes on; "cuda" needs its build for that.

    Returns
    -------
    ndarray, float32, (rows, columns)
        Pixels, NaN where the output is not finite.

    Raises
    ------
    ParameterError
        onnxruntime or onnx is not installed; weights lie outside the model's folder; values that are not allowed, or names that the model does not have.
    StereoFrameworkError
        The file is not a model, or its inputs or output do not fit the images.
    """
    files = _files(model)
    name = files[0].name
    contents = tuple(content_digest_of(file) for file in files)
    session = _session(model, contents, device, thread_count())
    ours = [
        _planes(i, channels, divisor, mean, std) for i in left_and_right(reference, match, search)
    ]
    entries = _chosen("inputs", inputs, {one.name: one for one in session.get_inputs()}, name)
    if len(entries) == 1:
        ours = [np.concatenate(ours)]
    if len(entries) != len(ours):
        raise ParameterError(
            f"onnx.inputs: {name} takes {len(entries)} inputs, {', '.join(e.name for e in entries)}; name those of the left and the right image"
        )
    rows, columns = reference.shape[:2]
    fed = {
        entry.name: _padded(image, entry, multiple, name)
        for entry, image in zip(entries, ours, strict=True)
    }
    [wanted] = _chosen(
        "output",
        [output or session.get_outputs()[-1].name],
        {one.name: one for one in session.get_outputs()},
        name,
    )
    try:
        [found] = session.run([wanted.name], fed)
    except Exception as error:  # onnxruntime's own kinds
        raise StereoFrameworkError(
            f"{name}: cannot be run on {columns}x{rows} pixels: {_line(error)}"
        ) from error
    padded = next(iter(fed.values())).shape[-2:]
    return taken(
        name,
        _map(np.asarray(found), output_channel, padded, wanted.name, name)[:rows, :columns],
        reference,
        search,
        scale=disparity_scale * sign,
    )


@functools.lru_cache(maxsize=2)
def _session(model: str, contents: tuple[bytes, ...], device: str, threads: int) -> Any:
    """Load a model so that it can run.

    `contents` has the digests of all files of the model, so that changed files are loaded
    again.
    """
    import onnxruntime

    if _PROVIDERS[device] not in onnxruntime.get_available_providers():
        allowed = ", ".join(
            d for d, p in _PROVIDERS.items() if p in onnxruntime.get_available_providers()
        )
        raise ParameterError(
            f"onnx.device: this build of onnxruntime has no {device}; allowed here: {allowed}"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # errors are raised as well
    try:
        return onnxruntime.InferenceSession(model, options, providers=[_PROVIDERS[device]])
    except Exception as error:  # onnxruntime's own kinds
        raise StereoFrameworkError(
            f"{model}: is not an ONNX model that onnxruntime can run: {_line(error)}"
        ) from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _chosen(
    parameter: str, names: list[str] | None, there: dict[str, Any], model: str
) -> list[Any]:
    for name in names or []:
        if name not in there:
            raise ParameterError(
                f"onnx.{parameter}: {model} has no {name!r}; {nearest(name, there)}"
            )
    return list(there.values()) if names is None else [there[name] for name in names]


def _planes(
    image: Image, channels: str, divisor: float, mean: Any, std: Any
) -> NDArray[np.float32]:
    """An image as a network sees it, (channels, rows, columns)."""
    values = image.astype(np.float64)
    if channels == "grey":
        values = (values if values.ndim == 2 else values @ _GREY)[..., None]
    elif values.ndim == 2:
        values = np.repeat(values[..., None], 3, axis=2)
    elif channels == "bgr":
        values = values[..., ::-1]
    for parameter, value in (("mean", mean), ("std", std)):
        if np.size(value) not in (1, values.shape[2]):
            raise ParameterError(
                f"onnx.{parameter}: {np.size(value)} numbers for {values.shape[2]} channels"
            )
    if np.any(np.asarray(std) <= 0):
        raise ParameterError(f"onnx.std: {std!r} is not above 0")
    return np.ascontiguousarray(
        ((values / divisor - np.asarray(mean)) / np.asarray(std)).transpose(2, 0, 1),
        np.float32,
    )


def _padded(planes: NDArray[np.float32], entry: Any, multiple: int, model: str) -> NDArray:
    """The array for an input of the model: a batch of one image, extended to the size that the model wants."""
    takes = f"{model} takes {entry.type[7:-1]} {'x'.join(map(str, entry.shape))} as {entry.name!r}"
    if entry.type not in _TYPES or len(entry.shape) != 4:
        raise StereoFrameworkError(f"{takes}; an image is 1 x channels x rows x columns")
    sizes = [-(-size // multiple) * multiple for size in planes.shape[1:]]
    given = [1, len(planes), *sizes]
    for i, fixed in enumerate(entry.shape):
        # In a model of fixed size the image fills the upper left corner of the input.
        given[i] = (
            fixed
            if isinstance(fixed, int) and i >= 2 and fixed >= planes.shape[i - 1]
            else given[i]
        )
        if isinstance(fixed, int) and fixed != given[i]:
            raise StereoFrameworkError(f"{takes}; the pair gives {'x'.join(map(str, given))}")
    below, right = (given[i + 1] - planes.shape[i] for i in (1, 2))
    return np.pad(planes, ((0, 0), (0, below), (0, right)), mode="edge")[None].astype(
        _TYPES[entry.type]
    )


def _map(
    found: NDArray, output_channel: int, size: tuple[int, ...], output: str, model: str
) -> NDArray:
    """The channel of an output that is as large as the input."""
    planes = found.reshape(-1, *found.shape[-2:]) if found.ndim >= 2 else found[None, None]
    if planes.shape[1:] != size:
        raise StereoFrameworkError(
            f"{model}: its output {output!r} is {'x'.join(map(str, found.shape))}; expected the {size[0]}x{size[1]} rows and columns of its input"
        )
    if output_channel >= len(planes):
        channels = f"the output {output!r} of {model} has {len(planes)} channels, counted from 0"
        raise ParameterError(f"onnx.output_channel: {output_channel}, but {channels}")
    return planes[output_channel]
