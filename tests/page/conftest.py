"""A browser for pages."""

import shutil

import pytest

_FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="module")
def browser():
    """Headless Chromium as pages are opened in it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("no Chromium found: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=executable, args=_FLAGS.split())
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """Opens a page file in a tab; at the end of the test no script may have failed, and nothing been asked of the network."""
    errors, contexts = [], []

    def opened(path, *, width=1400, **options):
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        tab = contexts[-1].new_page()
        tab.set_default_timeout(10_000)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        tab.on(
            "request", lambda request: errors.append(request.url[:80]) if not request.url.startswith(("file:", "data:")) else None
        )
        tab.goto(f"file://{path}")
        return tab

    yield opened
    for context in contexts:
        context.close()
    assert errors == []
