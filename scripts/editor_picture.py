"""Draw the pictures of completion in an editor: ``python scripts/editor_picture.py``.

The pictures show Monaco, the editor component of VS Code, with the package monaco-yaml,
which contains yaml-language-server. The schema is that of ``check --schema``. The
script needs npm with access to its registry, Chromium and the package playwright. It
also writes the completions that the editor lists to ``docs/images/howto/editor.json``.
"""

import functools
import http.server
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

SOURCES = Path(__file__).with_suffix("")
"""Folder with the page of the editor and the versions of its packages."""

OUT = Path(__file__).parents[1] / "docs" / "images" / "howto"

WIDTH = 1100
"""Width of the pictures in pixels."""

BUNDLES = {
    "editor.js": "editor.js",
    "editor.worker.js": "node_modules/monaco-editor/esm/vs/editor/editor.worker.js",
    "yaml.worker.js": "node_modules/monaco-yaml/yaml.worker.js",
}
"""Files that the page loads, with their main source files."""


@dataclass(frozen=True)
class Case:
    """A picture of completion.

    Parameters
    ----------
    name : str
        Name of the picture.
    script : str
        Text of a script. The cursor is at its end.
    selected : str
        Completion whose description is shown.
    height : int
        Height of the picture in pixels.
    """

    name: str
    script: str
    selected: str
    height: int


CASES = (
    Case(
        name="editor",
        script=(
            "include: window\nplugins: [my_cost.py]\nscenes: [synthetic/planes]\nmatching_cost: "
        ),
        selected="census",
        height=320,
    ),
    Case(
        name="editor_axes",
        script="include: window\nscenes: [synthetic/planes]\nsweep:\n  grid:\n    aggregation.box",
        selected="aggregation.box.size",
        height=180,
    ),
)


def main() -> None:
    """Draw all pictures, and store the listed completions."""
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder) / "site"
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
        _build_editor(Path(folder), site)
        _write_schema(Path(folder), site / "schema.json")
        completions = _draw(site)
    text = json.dumps(completions, indent=2, ensure_ascii=False)
    (OUT / "editor.json").write_text(f"{text}\n", encoding="utf-8")


def _build_editor(folder: Path, site: Path) -> None:
    """Install the packages of the editor, and bundle them for a browser."""
    install = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=folder, check=True)
    site.mkdir()
    shutil.copy(folder / "index.html", site)
    for bundle, source in BUNDLES.items():
        command = [
            "node_modules/.bin/esbuild",
            source,
            "--bundle",
            f"--outfile={site / bundle}",
            "--loader:.ttf=dataurl",
            "--log-level=error",
        ]
        subprocess.run(command, cwd=folder, check=True)


def _write_schema(folder: Path, path: Path) -> None:
    """Write the schema of scripts with the stage of a new plug-in."""
    program = [sys.executable, "-m", "stereo_framework"]
    new_stage = ["stages", "--new", "my_cost", "--slot", "matching_cost"]
    subprocess.run([*program, *new_stage], cwd=folder, check=True)
    schema_command = [*program, "check", "--schema", "--plugin", "my_cost.py"]
    with path.open("wb") as file:
        subprocess.run(schema_command, cwd=folder, check=True, stdout=file)


def _draw(site: Path) -> dict[str, Any]:
    """Draw the pictures, and return the completions by the names of the pictures."""
    handler = functools.partial(_QuietHandler, directory=str(site))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
        )
        completions = {}
        for case in CASES:
            page = browser.new_page(viewport={"width": WIDTH, "height": case.height})
            page.goto(f"http://127.0.0.1:{server.server_port}/index.html")
            completions[case.name] = _complete(page, case)
            page.screenshot(path=OUT / f"{case.name}.png")
            page.close()
        browser.close()
    server.shutdown()
    return completions


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Handler that prints no line for each request."""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def _complete(page: Page, case: Case) -> dict[str, Any]:
    """Open the completions of a script, and return those that are visible."""
    page.evaluate("text => window.openScript(text)", case.script)
    rows = page.locator(".suggest-widget .monaco-list-row")
    focused_label = page.locator(".suggest-widget .monaco-list-row.focused .label-name")
    # The language server starts at the first request, which may return nothing.
    for _ in range(20):
        page.evaluate("window.complete()")
        page.wait_for_timeout(1000)
        if rows.count() > 1:
            break
    # The description gets its size when the next completion is selected.
    page.evaluate("window.showDetails()")
    for _ in range(rows.count()):
        page.wait_for_timeout(500)
        if focused_label.inner_text().strip() == case.selected:
            break
        page.keyboard.press("ArrowDown")
    details = page.locator(".suggest-details .docs")
    details.wait_for()
    page.wait_for_timeout(500)
    return {
        "script": case.script,
        "entries": [label.strip() for label in rows.locator(".label-name").all_inner_texts()],
        "selected": case.selected,
        "description": details.inner_text().strip(),
    }


if __name__ == "__main__":
    main()
