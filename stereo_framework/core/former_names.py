"""Former names of parameters, keys, options and Python names, and their new names.

No former name works. If a user writes one, the error about the unknown name gives the
new name. All these errors read the table ``former_names.yaml``. For example, its entry
``module_names: {stereo_framework: {Search: SearchRange}}`` has the section
``module_names``, the place ``stereo_framework``, the former name ``Search`` and the new
name ``SearchRange``.

A module or class that had a former name reports it with `report_attributes_of_module`
or `report_attributes`. They set ``__getattr__`` when the program runs, so type checkers
still find misspelt attributes.
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
"""Names of the functions between the user's statement and `_is_import_statement`."""


@functools.cache
def table() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Return the new names by section, place and former name."""
    former_names: Mapping[str, Mapping[str, Mapping[str, str]]]
    former_names = package_yaml("core/former_names.yaml")
    return former_names


def new_name(section: str, place: str, name: str) -> str | None:
    """Return the new name of a former name; None for any other name.

    Examples
    --------
    >>> new_name("module_names", "stereo_framework", "Search")
    'SearchRange'
    """
    return table()[section].get(place, {}).get(name)


def new_name_hint(section: str, place: str, name: str) -> str:
    """Return the clause that gives a former name's new name; empty for other names.

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
    """Return the end of an error line about an unknown name.

    Parameters
    ----------
    section, place : str
        The part of the table that is searched.
    name : str
        The name that the user wrote.
    allowed : iterable of str
    kind : str
        Plural noun for the allowed names, as in `nearest`.

    Returns
    -------
    str
        The new name of a former name; for any other name the allowed names.
    """
    return new_name_hint(section, place, name) or nearest(name, allowed, kind=kind)


def parameter_hint(function: Callable[..., Any], name: str) -> str:
    """Return the clause that gives a parameter's new name; empty for other names.

    Parameters
    ----------
    function : callable
        A stage, or the class of the parameters of the HCI metrics.
    name : str
        The name that the user wrote.
    """
    # Each stage of the package is in a file of its name, in the folder of its slot.
    # Stages of plug-ins are outside the package and have no former names.
    module = function.__module__
    if not module.startswith(_PACKAGE):
        return ""
    place = module.removeprefix(_PACKAGE)
    if place.endswith(".hci.parameters"):
        return new_name_hint("protocol_fields", "hci", name)
    # The star of the table stands for all stages of a slot.
    slot = place.partition(".")[0]
    exact_hint = new_name_hint("stage_parameters", place, name)
    return exact_hint or new_name_hint("stage_parameters", f"{slot}.*", name)


def check_arguments(label: str, names: Iterable[str], allowed: Container[str]) -> None:
    """Raise an error with the new name if an argument of a call has a former name.

    Parameters
    ----------
    label : str
        The function or the class, as the table names it.
    names : iterable of str
        The names of the arguments in a call.
    allowed : container of str
        The names of the arguments that the function has.

    Raises
    ------
    TypeError
        A name is not allowed, and it is a former name.
    """
    for name in names:
        if name not in allowed and (hint := new_name_hint("arguments", label, name)):
            message = f"{label}() got an unexpected keyword argument {name!r}; {hint}"
            raise TypeError(message)


def report_attributes(cls: C) -> C:
    """Let the objects of a class report former names of their attributes.

    The place in the table is the name of the class. The decorator returns the class.
    """

    def missing_attribute(self: Any, name: str) -> Any:
        # Python and other libraries look for attributes such as __array__ all the time.
        hint = ""
        if not name.startswith("__"):
            hint = new_name_hint("attributes", cls.__name__, name)
        if not hint:
            # The attribute is looked up again to raise the original error.
            return object.__getattribute__(self, name)
        message = f"{cls.__name__!r} object has no attribute {name!r}; {hint}"
        raise AttributeError(message)

    cls.__getattr__ = missing_attribute  # type: ignore[attr-defined]
    return cls


def report_attributes_of_module(module: str) -> None:
    """Let a module report former names of its functions, classes and modules.

    Parameters
    ----------
    module : str
        The name of the module, as the table gives it.
    """

    def missing_attribute(name: str) -> NoReturn:
        raise_missing_attribute(module, name)

    sys.modules[module].__getattr__ = missing_attribute  # type: ignore[method-assign]


def raise_missing_attribute(module: str, name: str) -> NoReturn:
    """Raise the error about a name that a module does not have.

    Only the ``__getattr__`` of a module calls this function.

    Raises
    ------
    AttributeError
        The user wrote ``module.name``.
    ImportError
        The user wrote ``from module import name``, and `name` is a former name. In this
        statement, Python replaces the message of an AttributeError by another one.
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
    """Return the clause that gives the new module of a name; empty for other names."""
    new_module = new_name("moved_names", module, name)
    return "" if new_module is None else f"import it from {new_module!r}"


def _is_import_statement() -> bool:
    """Return whether a ``from`` import looks for the name in the module."""
    frame = sys._getframe(1)
    while frame.f_code.co_name in _FUNCTIONS_OF_MODULES and frame.f_back is not None:
        frame = frame.f_back
    instruction = frame.f_code.co_code[frame.f_lasti]
    return dis.opname[instruction] == "IMPORT_FROM"
