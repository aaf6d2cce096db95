"""The files that an ONNX model consists of: the model itself and the files with its weights."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stereo_framework.core.contents import file_digest
from stereo_framework.core.errors import ParameterError


def model_files(model: Path) -> list[Path]:
    """List the file of a model and the files that hold its weights.

    A tensor of the model may lie in any file in the model's folder or below it. Such
    tensors can also occur in attributes, subgraphs, functions and training information.

    Parameters
    ----------
    model : Path
        An existing file.

    Returns
    -------
    list of Path
        The model, then the other files in the order of their names.

    Raises
    ------
    ParameterError
        A file lies outside the model's folder, where onnxruntime does not read it, or it
        does not exist.
    """
    weights = []
    for location in _external_locations(model, file_digest(model)):
        path = model.parent / location
        if Path(location).is_absolute() or not _is_readable_place(path, model):
            message = (
                f"onnx.model: {model} keeps weights in {location!r}, outside its folder; onnxruntime reads weights only from"
                " the folder of the model and from folders below it; save the model again with its weights beside it"
            )
            raise ParameterError(message)
        if not path.is_file():
            message = f"onnx.model: {model} keeps weights in {location!r}, but there is no file {path}; copy it there"
            raise ParameterError(message)
        weights.append(path)
    return [model, *weights]


def _is_readable_place(path: Path, model: Path) -> bool:
    """Return whether onnxruntime may read a file of weights: links are followed first."""
    place = path.resolve()
    # A model may itself be a link. Downloads of Hugging Face consist of such links.
    folders = [model.parent.resolve(), model.resolve().parent]
    return any(place.is_relative_to(folder) for folder in folders)


@functools.lru_cache(maxsize=64)
def _external_locations(model: Path, digest: bytes) -> tuple[str, ...]:
    """Return the sorted locations of all external tensors of the model with this content."""
    import onnx
    from google.protobuf.message import DecodeError

    content = onnx.ModelProto()
    try:
        content.ParseFromString(model.read_bytes())
    except DecodeError:
        # onnxruntime also reads a format of its own (.ort), which has no external tensors.
        # It refuses any other file with a message.
        return ()
    locations: set[str] = set()
    for message in _messages(content):
        if (
            isinstance(message, onnx.TensorProto)
            and message.data_location == onnx.TensorProto.EXTERNAL
        ):
            locations.update(
                entry.value for entry in message.external_data if entry.key == "location"
            )
    return tuple(sorted(locations))


def _messages(root: Any) -> Iterator[Any]:
    """Yield a protobuf message and all messages inside it."""
    waiting = [root]
    while waiting:
        message = waiting.pop()
        yield message
        for field, value in message.ListFields():
            if field.message_type is None:
                continue
            if hasattr(value, "ListFields"):
                waiting.append(value)
            else:
                waiting.extend(value)
