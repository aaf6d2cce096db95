"""The built-in methods with their descriptions from the comments of the scripts."""

from dataclasses import dataclass
from pathlib import Path

from stereo_framework.core.errors import ParameterError, close_or_listing, short
from stereo_framework.core.former_names import new_name_hint
from stereo_framework.core.package_files import package_folder

_FOLDER = "methods"
"""Folder of the scripts of the built-in methods."""

_PURPOSE = "# Suited to: "
"""Beginning of the comment line that states the purpose of a method."""


@dataclass(frozen=True)
class BuiltInMethod:
    """A method of the package.

    Parameters
    ----------
    name : str
        Name in scripts and commands, such as ``sgm``.
    suited_to : str
        Purpose for which the method is suited, its density and its time.
    description : str
        Description of the steps of the method.
    file : Path
        File of the script.
    """

    name: str
    suited_to: str
    description: str
    file: Path

    def read_script(self) -> str:
        """Return the text of the script, with its comments."""
        return self.file.read_text(encoding="utf-8")


def built_in_methods() -> tuple[BuiltInMethod, ...]:
    """Return the built-in methods, sorted by name."""
    files = sorted((package_folder() / _FOLDER).glob("*.yaml"))
    return tuple(_method_in_file(file) for file in files)


def built_in_method(name: str) -> BuiltInMethod:
    """Return a built-in method.

    Parameters
    ----------
    name : str
        Name such as ``sgm`` or ``methods/sgm``.

    Raises
    ------
    ParameterError
        There is no such method. The message gives the nearest name.
    """
    methods = {method.name: method for method in built_in_methods()}
    short_name = name.removesuffix(".yaml").removeprefix(f"{_FOLDER}/")
    if short_name in methods:
        return methods[short_name]
    listing = "'stereo-framework methods' lists all methods"
    remedy = new_name_hint("script_names", "configs", name)
    remedy = remedy or close_or_listing(short_name, methods, listing)
    raise ParameterError(f"there is no built-in method {short(name, 80)!r}; {remedy}")


def _method_in_file(file: Path) -> BuiltInMethod:
    """Read the comments at the beginning of the script of a built-in method."""
    description_lines = []
    purpose = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith(_PURPOSE):
            purpose = line.removeprefix(_PURPOSE)
        elif line.startswith("# "):
            description_lines.append(line.removeprefix("# "))
        else:
            # An empty comment line ends the description.
            break
    return BuiltInMethod(file.stem, purpose, " ".join(description_lines), file)
