"""The fixture that separates tests, also the examples in docstrings."""

import sys
from collections.abc import Iterator

import pytest

from stereo_framework.core import registration
from stereo_framework.core.registry import Registry


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget the stages, metrics, protocols and plug-ins of a test.

    Examples in docstrings register some, too, and other tests list all of them.
    """
    registration.stages()  # The first call registers the built-in stages.
    functions = dict(registration._STAGE_OF_FUNCTION)
    monkeypatch.setattr(registration, "_STAGE_OF_FUNCTION", functions)
    contents = {id(one): (dict(one.data), dict(one._origins)) for one in Registry.every}
    modules = set(sys.modules)
    yield
    for one in Registry.every:
        if id(one) in contents:
            one.data, one._origins = contents[id(one)]
        else:
            _forget_additions(one)
    for name in set(sys.modules) - modules:
        if name.startswith("stereo_framework_plugin_"):
            del sys.modules[name]


def _forget_additions(one: Registry) -> None:
    """Remove what plug-ins added to a registry that the test imported first."""
    for name in list(one):
        module = one.origin(name) or ""
        if module.partition(".")[0] != Registry.OURS:
            one.forget(name)
