"""A browser for pages."""

import shutil

import pytest

_FLAGS = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"


@pytest.fixture(scope="module")
def tab():
    """A tab of headless Chromium; one for all tests, because every further one is a process that takes longer than most of them."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if executable is None:
        pytest.skip("no Chromium found: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=executable, args=_FLAGS.split())
        yield found.new_page()
        found.close()


@pytest.fixture
def open_page(tab):
    """Opens a page file in the tab; at the end of the test no script may have failed, and nothing been asked of the network."""
    errors = []
    listeners = {
        "pageerror": lambda error: errors.append(str(error)),
        "console": lambda message: errors.append(message.text) if message.type == "error" else None,
        "request": lambda request: (
            errors.append(request.url[:80])
            if not request.url.startswith(("file:", "data:"))
            else None
        ),
    }
    for event, told in listeners.items():
        tab.on(event, told)

    def opened(path, *, width=1400, scheme="light"):
        tab.set_default_timeout(10_000)
        tab.set_viewport_size({"width": width, "height": 800})
        tab.emulate_media(color_scheme=scheme)
        tab.goto(f"file://{path}")
        return tab

    yield opened
    tab.goto("about:blank")
    for event, told in listeners.items():
        tab.remove_listener(event, told)
    assert errors == []
