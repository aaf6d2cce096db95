"""A browser for pages."""

import shutil

import pytest


@pytest.fixture
def browser():
    """Headless Chromium as pages are opened in it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no Chromium found")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield found
        found.close()
