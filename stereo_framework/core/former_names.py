"""Hints for users who write a former name of a renamed parameter, option or function.

Former names no longer work. If a user writes a former name, the error message gives the
new name. The file ``former_names.yaml`` contains the table of former and new names. For
example, the entry ``module_names: {stereo_framework: {Search: SearchRange}}`` has the
section ``module_names``, the place ``stereo_framework``, the former name ``Search`` and
the new name ``SearchRange``.

If attributes of a class or of a module were renamed, call `report_attributes` or
`report_attributes_of_module`. Both functions set ``__getattr__`` while the program
runs. A ``__getattr__`` in the source would hide misspelt attributes from type checkers.
"""

import dis
import functools
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from stereo_framework.core.errors import nearest
from stereo_framework.core.package_files import package_yaml

C = TypeVar("C", bound=type)

_PACKAGE = "stereo_framework."

_FUNCTIONS_OF_MODULES = ("raise_missing_attribute", "missing_attribute", "__getattr__")
"""Functions that Python calls between the user's statement and `_is_import_statement`.

They are skipped when the call frame of the user's statement is searched.
"""


@functools.cache
def table() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return the table of new names, by section, place and former name."""
    former_names: Mapping[str, Mapping[str, Mapping[str, str]]]
    former_names = package_yaml("core/former_names.yaml")
    return former_names


def new_name(section: str, place: str, name: str) -> str | None:
    """Look up the new name of a former name in the table.

    The result is None if the table does not contain the name as a former name.

    Examples
    --------
    >>> new_name("module_names", "stereo_framework", "Search")
    'SearchRange'
    """
    return table()[section].get(place, {}).get(name)


def new_name_hint(section: str, place: str, name: str) -> str:
    """Return the end of an error message that gives the new name of a former name.

    The result is empty if the table does not contain the name as a former name.

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
    """Return the end of an error message about an unknown name.

    If the unknown name is a former name, the text gives the new name. Otherwise the
    text lists the allowed names.

    Parameters
    ----------
    section, place : str
        Section and place of the table in which the name is looked up.
    name : str
        Unknown name that the user wrote.
    allowed : iterable of str
        Allowed names.
    kind : str
        Plural noun for the allowed names, such as "stages".
    """
    return new_name_hint(section, place, name) or nearest(name, allowed, kind=kind)


def parameter_hint(function: Callable[..., Any], name: str) -> str:
    """Return the end of an error message that gives the new name of a parameter.

    The result is empty if `name` is not a former name of a parameter.

    Parameters
    ----------
    function : callable
        Stage that has the parameter, or the class with the parameters of the HCI
        metrics.
    name : str
        Unknown parameter name that the user wrote.
    """
    # The file path of a stage, such as refinement/median.py, contains the slot and the
    # name of the stage. The table has no former names for stages of plug-ins, which
    # are defined in other packages.
    module = function.__module__
    if not module.startswith(_PACKAGE):
        return ""
    place = module.removeprefix(_PACKAGE)
    if place.endswith(".hci.parameters"):
        return new_name_hint("protocol_fields", "hci", name)
    # A place such as "refinement.*" in the table applies to all stages of the slot.
    slot = place.partition(".")[0]
    exact_hint = new_name_hint("stage_parameters", place, name)
    return exact_hint or new_name_hint("stage_parameters", f"{slot}.*", name)


def check_arguments(label: str, names: Iterable[str], allowed: Container[str]) -> None:
    """Refuse former names of keyword arguments, and report the new names.

    Other unknown names are ignored here, because Python itself refuses them when the
    function is called.

    Parameters
    ----------
    label : str
        Name of the called function or class in the table of former names.
    names : iterable of str
        Names of the keyword arguments in the call.
    allowed : container of str
        Names of the parameters of the function.

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
    """Make a class report former names of its attributes in error messages.

    Use this function as a decorator of the class. The former names of the attributes
    are listed in the table under the name of the class.
    """

    def missing_attribute(self: Any, name: str) -> Any:
        # Python and NumPy often look for attributes such as __array__. The table does
        # not contain such names, so the search is skipped.
        hint = ""
        if not name.startswith("__"):
            hint = new_name_hint("attributes", cls.__name__, name)
        if not hint:
            # This call raises Python's usual AttributeError for the missing attribute.
            return object.__getattribute__(self, name)
        message = f"{cls.__name__!r} object has no attribute {name!r}; {hint}"
        raise AttributeError(message)

    cls.__getattr__ = missing_attribute  # type: ignore[attr-defined]
    return cls


def report_attributes_of_module(module: str) -> None:
    """Make a module report former names of its functions and classes in error messages.

    Parameters
    ----------
    module : str
        Full name of the module, such as ``stereo_framework.core.scene``.
    """

    def missing_attribute(name: str) -> NoReturn:
        raise_missing_attribute(module, name)

    sys.modules[module].__getattr__ = missing_attribute  # type: ignore[method-assign]


def raise_missing_attribute(module: str, name: str) -> NoReturn:
    """Raise an error because a module does not contain a name.

    If the missing name is a former name, the message gives the new name. Call this
    function only in the ``__getattr__`` function of a module.

    Raises
    ------
    AttributeError
        The user wrote ``module.name``, or wrote ``from module import name`` with a name
        that is not a former name.
    ImportError
        The user wrote ``from module import name`` with a former name. An AttributeError
        would not help here, because Python replaces its message.
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
    """Return the end of an error message that gives the new module of a moved object.

    The result is empty if the object was not moved to another module.
    """
    new_module = new_name("moved_names", module, name)
    return "" if new_module is None else f"import it from {new_module!r}"


def _is_import_statement() -> bool:
    """Return whether a ``from module import name`` statement looks up the name.

    If the user's code contains ``module.name`` instead, the result is False.
    """
    frame = sys._getframe(1)
    while frame.f_code.co_name in _FUNCTIONS_OF_MODULES and frame.f_back is not None:
        frame = frame.f_back
    instruction = frame.f_code.co_code[frame.f_lasti]
    return dis.opname[instruction] == "IMPORT_FROM"
