"""Take the pictures of docs/pages.md: ``python scripts/page_pictures.py``. Needs Playwright, Chromium and the scenes teddy and cones.

Runs the commands that the page gives, opens the report that they write, and photographs what the text describes.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Write ``docs/images/page_*.png``."""
    text = (DOCS / "pages.md").read_text()
    commands = "".join(
        re.findall(r"^```bash\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    ).splitlines()
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            program, *arguments = shlex.split(command, comments=True)
            assert program == "stereo-framework", "the page gives no other commands"
            subprocess.run(
                [
                    sys.executable,
                    "-c",
                    "from stereo_framework.cli.main import main; main()",
                    *arguments,
                ],
                cwd=folder,
                check=True,
            )
        _photograph(next(Path(folder).rglob("report.html")))


def _photograph(page: Path) -> None:
    executable = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=executable, args=["--no-sandbox", "--disable-gpu"]
        )
        tab = browser.new_page(viewport={"width": 1200, "height": 780})
        tab.goto(page.as_uri())
        tab.wait_for_selector(".thumb[data-row='1'][data-cell='6'][data-drawn]")
        tab.mouse.move(0, 0)
        _keep(tab.screenshot(), "summary")
        tab.click(".scenes [role=toolbar] >> text=error")
        tab.wait_for_selector(".thumb[data-row='1'][data-cell='6'][data-drawn=error]")
        tab.mouse.move(0, 0)
        _keep(tab.locator(".scenes").screenshot(), "errors")
        tab.click(".thumb[data-row='0'][data-cell='2']")
        tab.wait_for_selector("dialog[data-ready]")
        tab.keyboard.press("2")
        tab.mouse.move(420, 330)
        _keep(tab.screenshot(), "viewer")
        browser.close()


def _keep(content: bytes, name: str) -> None:
    path = DOCS / "images" / f"page_{name}.png"
    path.write_bytes(content)
    # A palette takes a third of the space; this way of choosing it keeps the colour scales smooth.
    picture = (
        Image.open(path)
        .convert("RGB")
        .quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
    )
    picture.save(path, optimize=True)


if __name__ == "__main__":
    main()
