"""The fixture that separates tests, also the examples in docstrings."""

import sys
from collections.abc import Iterator

import pytest

from stereo_framework.core import registration, stage
from stereo_framework.core.package_files import PACKAGE
from stereo_framework.core.registry import Registry


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the stages, metrics, protocols and plug-ins that a test has registered.

    Other tests list all registered objects. Examples in docstrings register some too.
    """
    registration.stages()  # The first call registers the built-in stages.
    functions = dict(stage._STAGE_OF_FUNCTION)
    monkeypatch.setattr(stage, "_STAGE_OF_FUNCTION", functions)
    contents = {
        id(table): (dict(table.data), dict(table._origins)) for table in Registry.registries
    }
    modules = set(sys.modules)
    yield
    for table in Registry.registries:
        if id(table) in contents:
            table.data, table._origins = contents[id(table)]
        else:
            _remove_additions(table)
    for name in set(sys.modules) - modules:
        if name.startswith("stereo_framework_plugin_"):
            del sys.modules[name]


def _remove_additions(table: Registry) -> None:
    """Remove the additions of plug-ins from a registry that the test imported first."""
    for name in list(table):
        module = table.origin(name) or ""
        if module.partition(".")[0] != PACKAGE:
            table.remove(name)
