"""Matrices in files of OpenCV's FileStorage: YAML, XML or JSON.

They are read by code of our own, because OpenCV's parsers write beyond their memory on some damaged files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import numpy as np
import yaml
from numpy.typing import NDArray

from stereo_framework.core.errors import DataError
from stereo_framework.io.yaml_text import compose

_KEYS = ("rows", "cols", "data")


def matrices(data: bytes) -> dict[str, NDArray[np.float64]]:
    """The matrices of finite numbers at the top level of a file, float64 ``(rows, columns)``, by name.

    Raises
    ------
    DataError
        The data are none of the three kinds of file, or damaged. The message does not contain the name of the file.
    """
    try:
        found = _of_xml(data) if data.lstrip().startswith(b"<") else _of_yaml(data)
    except (DataError, ValueError, RecursionError, yaml.YAMLError, ElementTree.ParseError):
        raise DataError("is not a file of OpenCV's FileStorage, or a damaged one") from None
    return {name: matrix for name, one in found.items() if (matrix := _matrix(one)) is not None}


def _matrix(one: Mapping[str, Any]) -> NDArray[np.float64] | None:
    try:
        rows, columns = int(one["rows"]), int(one["cols"])
        values = [float(value) for value in one["data"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
    if rows < 1 or columns < 1 or rows * columns != len(values) or not all(map(math.isfinite, values)):
        return None
    return np.array(values).reshape(rows, columns)


def _of_xml(data: bytes) -> dict[str, Mapping[str, Any]]:
    if b"<!" in data:  # files of OpenCV never declare entities, which may stand for anything
        raise DataError("a declaration")
    found: dict[str, Mapping[str, Any]] = {}
    for one in ElementTree.fromstring(data):
        parts = {part.tag: part.text or "" for part in one}
        found[one.tag] = {key: text.split() if key == "data" else text for key, text in parts.items()}
    return found


def _of_yaml(data: bytes) -> dict[str, Mapping[str, Any]]:
    """Of YAML, and of JSON, which is YAML too."""
    # The first line that OpenCV writes, "%YAML:1.0", is not a legal directive.
    text = data.decode()
    root = compose(text.partition("\n")[2] if text.startswith("%") else text)
    if not isinstance(root, yaml.MappingNode):
        raise DataError("no mapping")
    found: dict[str, Mapping[str, Any]] = {}
    for name, one in root.value:
        if isinstance(one, yaml.MappingNode):
            parts = {key.value: value for key, value in one.value if isinstance(key, yaml.ScalarNode) and key.value in _KEYS}
            found[str(name.value)] = {key: _texts(value) for key, value in parts.items()}
    return found


def _texts(node: yaml.Node) -> Any:
    return [item.value for item in node.value] if isinstance(node, yaml.SequenceNode) else node.value
