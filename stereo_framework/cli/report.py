"""The command ``report``."""

from pathlib import Path
from typing import Annotated

import typer

from stereo_framework.cli import _shared
from stereo_framework.core.errors import ParameterError


def report(
    folders: list[Path],
    out: Path | None = None,
    limit: Annotated[int, typer.Option(min=0)] = 1000,
    single_file: Annotated[bool, typer.Option("--single-file")] = False,
) -> None:
    """Write an HTML report of stored results.

    The report shows a table of methods and scenes, disparity maps side by side, plots,
    times and parameters. It needs no network.

    Example: stereo-framework report results/ssd

    Parameters
    ----------
    folders
        The --out folder of a run, or several folders, which then need --out.
    out
        The page to write; default: report.html in the folder. Its pictures lie beside it, in the folder assets.
    limit
        Most results in a table or list of the page; 0: all. The summary is of all in any case.
    single_file
        Keep the pictures within the page, to send it to somebody.
    """
    from stereo_framework.page.run_page import run_page

    if out is None and len(folders) > 1:
        message = (
            f"{len(folders)} folders have no common place for the report; name the page with "
            "--out PAGE.html"
        )
        raise ParameterError(message)
    path = out or folders[0] / "report.html"
    run_page(folders, limit=limit).write(path, single_file=single_file)
    print(_shared.as_typed(f"report: {path}"))
