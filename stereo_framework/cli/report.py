"""The verb ``report``."""

from __future__ import annotations

from pathlib import Path

from stereo_framework.cli._options import Data


def report(
    folder: Path,
    out: Path | None = None,
    data: Data = None,
) -> int:
    """Write one HTML page about a run: tables, plots, maps to blink between, times, parameters. It opens offline.

    Example: stereo-framework report results/ssd

    Parameters
    ----------
    folder
        The --out folder of a run.
    out
        The page to write; default: report.html in the folder.
    """
    from stereo_framework.page.run_page import run_page

    path = out or folder / "report.html"
    run_page(folder, data=data).write(path)
    print(f"page: {path}")
    return 0
