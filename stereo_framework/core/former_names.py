"""Error messages with the new names of renamed parameters, options and functions.

The file ``former_names.yaml`` maps former names to new names. For example, the entry
``module_names: {stereo_framework: {Search: SearchRange}}`` renames ``Search``. In this
entry, ``module_names`` is the section and ``stereo_framework`` is the place. The
section ``moved_names`` maps the former module of an object to its present module.

Use `report_attributes` for renamed attributes of a class. Use
`report_attributes_of_module` for renamed objects of a module. Both functions set
``__getattr__`` at run time. A ``__getattr__`` in the source would hide misspelt
attributes from type checkers.
"""

import dis
import functools
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from stereo_framework.core.errors import nearest
from stereo_framework.core.package_files import PACKAGE, package_yaml

C = TypeVar("C", bound=type)

_FUNCTIONS_OF_MODULES = ("raise_missing_attribute", "missing_attribute", "__getattr__")
"""Functions that are skipped in the search for the user's statement."""


@functools.cache
def table() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return the table of new names, by section, place and former name."""
    former_names: Mapping[str, Mapping[str, Mapping[str, str]]]
    former_names = package_yaml("core/former_names.yaml")
    return former_names


def new_name(section: str, place: str, name: str) -> str | None:
    """Return the new name of a former name, or None for an unknown name.

    Examples
    --------
    >>> new_name("module_names", "stereo_framework", "Search")
    'SearchRange'
    """
    return table()[section].get(place, {}).get(name)


def new_name_hint(section: str, place: str, name: str) -> str:
    """Return the hint of an error message about a former name.

    The hint is empty for an unknown name.

    Examples
    --------
    >>> new_name_hint("script_names", "configs", "truth_free/reference")
    "it is called 'truth_free/pseudo_truth' now"
    """
    new = new_name(section, place, name)
    return "" if new is None else f"it is called {new!r} now"


def new_or_nearest(
    section: str, place: str, name: str, allowed: Iterable[str], *, kind: str = ""
) -> str:
    """Return the hint of an error message about an unknown name.

    For a former name, the hint gives the new name. Otherwise the hint lists the allowed
    names.

    Parameters
    ----------
    section, place : str
        Section and place in the table of former names.
    name : str
        Unknown name that the user wrote.
    allowed : iterable of str
        Allowed names.
    kind : str
        Plural noun for the allowed names, such as "stages".
    """
    return new_name_hint(section, place, name) or nearest(name, allowed, kind=kind)


def parameter_hint(function: Callable[..., Any], name: str) -> str:
    """Return the hint of an error message about a renamed parameter.

    The hint is empty if the parameter was never renamed.

    Parameters
    ----------
    function : callable
        Stage with the parameter, or parameter class of the HCI metrics.
    name : str
        Unknown parameter name in the user's call.
    """
    # The table lists only stages of this package, but no stages of plug-ins.
    module = function.__module__
    if not module.startswith(f"{PACKAGE}."):
        return ""
    place = module.removeprefix(f"{PACKAGE}.")
    if place.endswith(".hci.parameters"):
        return new_name_hint("protocol_fields", "hci", name)
    # A place such as "refinement.*" in the table applies to all stages of the slot.
    slot = place.partition(".")[0]
    exact_hint = new_name_hint("stage_parameters", place, name)
    return exact_hint or new_name_hint("stage_parameters", f"{slot}.*", name)


def check_arguments(label: str, names: Iterable[str], allowed: Container[str]) -> None:
    """Refuse former names of keyword arguments, and report the new names.

    Python itself refuses names that never existed.

    Parameters
    ----------
    label : str
        Name of the called function or class.
    names : iterable of str
        Names of the keyword arguments in the call.
    allowed : container of str
        Parameter names of the function.

    Raises
    ------
    TypeError
        An argument has a former name.
    """
    for name in names:
        if name not in allowed and (hint := new_name_hint("arguments", label, name)):
            message = f"{label}() got an unexpected keyword argument {name!r}; {hint}"
            raise TypeError(message)


def report_attributes(cls: C) -> C:
    """Decorate a class to report the new names of its renamed attributes.

    The table lists former attributes under the name of the class.
    """

    def missing_attribute(self: Any, name: str) -> Any:
        # Python and NumPy often look for attributes such as __array__. Such names were
        # never renamed.
        hint = ""
        if not name.startswith("__"):
            hint = new_name_hint("attributes", cls.__name__, name)
        if not hint:
            # This call raises Python's usual AttributeError.
            return object.__getattribute__(self, name)
        message = f"{cls.__name__!r} object has no attribute {name!r}; {hint}"
        raise AttributeError(message)

    cls.__getattr__ = missing_attribute  # type: ignore[attr-defined]
    return cls


def report_attributes_of_module(module: str) -> None:
    """Report the new names of renamed functions and classes of a module.

    Parameters
    ----------
    module : str
        Full name of the module, such as ``stereo_framework.core.scene``.
    """

    def missing_attribute(name: str) -> NoReturn:
        raise_missing_attribute(module, name)

    sys.modules[module].__getattr__ = missing_attribute  # type: ignore[method-assign]


def raise_missing_attribute(module: str, name: str) -> NoReturn:
    """Raise an error about a missing name of a module.

    For a former name, the message gives the new name. Call this function only in the
    ``__getattr__`` function of a module.

    Raises
    ------
    AttributeError
        The module does not contain the name.
    ImportError
        The statement ``from module import name`` contains a former name.
    """
    hint = ""
    if not name.startswith("__"):
        hint = new_name_hint("module_names", module, name) or _new_module_hint(module, name)
    if hint and _is_import_statement():
        message = f"cannot import name {name!r} from {module!r}; {hint}"
        raise ImportError(message, name=module)
    message = f"module {module!r} has no attribute {name!r}"
    if hint:
        message = f"{message}; {hint}"
    raise AttributeError(message)


def _new_module_hint(module: str, name: str) -> str:
    """Return the hint of an error message about an object in a new module.

    The hint is empty if the object was not moved.
    """
    new_module = new_name("moved_names", module, name)
    return "" if new_module is None else f"import it from {new_module!r}"


def _is_import_statement() -> bool:
    """Return whether the user wrote ``from module import name``.

    The result is False for ``module.name``.
    """
    frame = sys._getframe(1)
    while frame.f_code.co_name in _FUNCTIONS_OF_MODULES and frame.f_back is not None:
        frame = frame.f_back
    instruction = frame.f_code.co_code[frame.f_lasti]
    return dis.opname[instruction] == "IMPORT_FROM"
