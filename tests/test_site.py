"""The documentation site: what is made of the program tells of all of it, and nothing is loaded from elsewhere."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
import yaml

pytest.importorskip("mkdocs", reason="the extra docs is not installed")
import site_hooks
import site_pages

from stereo_framework.cli import main
from stereo_framework.core.package_files import package_folder
from stereo_framework.core.registration import stages
from stereo_framework.core.slots import SLOTS
from stereo_framework.script import schema

pytestmark = pytest.mark.docs

DOCS = Path(__file__).parents[1] / "docs"
SHIPPED = sorted(path.stem for path in (package_folder() / "methods").glob("*.yaml"))


@pytest.fixture(scope="module")
def made():
    return site_pages.pages(DOCS)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_method_has_a_page_with_its_script_and_figures(name, made):
    page = made.get(f"methods/{name}.md") or (DOCS / "methods" / f"{name}.md").read_text()
    details = site_pages.appended(f"methods/{name}.md", DOCS)
    assert page.startswith("# ")
    [script] = re.findall(r"^```yaml\n(.*?)^```", details, re.MULTILINE | re.DOTALL)
    assert yaml.safe_load(script) == yaml.safe_load(
        (package_folder() / "methods" / f"{name}.yaml").read_text()
    )
    rows = [
        line
        for line in (DOCS / "results.md").read_text().splitlines()
        if line.startswith(f"| `{name}` |")
    ]
    told = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in details.splitlines()
        if "results.md#" in line
    ]
    assert [cells[2] for cells in told] == [line.split("|")[2].strip() for line in rows]


def test_every_stage_and_parameter_is_documented(made):
    for slot in SLOTS:
        page = made[f"reference/stages/{slot}.md"]
        parts = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
        own = {
            s.name: s for s in stages(slot) if s.function.__module__.startswith("stereo_framework.")
        }
        assert parts.keys() == own.keys()
        for name, stage in own.items():
            assert re.findall(r"^\| `(\w+)` \|", parts[name], re.MULTILINE) == list(
                stage.parameters
            )


def test_every_command_and_option_is_documented(made):
    parts = dict(
        re.findall(
            r"^## ([\w-]+)\n(.*?)(?=^## |\Z)",
            made["reference/command_line.md"],
            re.MULTILINE | re.DOTALL,
        )
    )
    commands = typer.main.get_command(main.app).commands
    assert parts.keys() == commands.keys()
    for name, command in commands.items():
        options = [
            o for p in command.params for o in p.opts if o.startswith("--") and o != "--help"
        ]
        assert [o for o in options if f"`{o}`" not in parts[name]] == []


def test_every_key_of_a_script_is_documented(made):
    assert [
        key for key in schema()["properties"] if f"\n| `{key}` |" not in made["reference/script.md"]
    ] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[`a`](docs/a.md) $x$", "[`a`](docs/a.md) CHANGED"),
        ("`$x$` and $x$", "`$x$` and CHANGED"),
        ("```sh\necho $x$\n```\n$x$\n", "```sh\necho $x$\n```\nCHANGED\n"),
        (
            "````markdown\n```sh\n$x$\n```\n$x$\n````\n",
            "````markdown\n```sh\n$x$\n```\n$x$\n````\n",
        ),
    ],
)
def test_changes_of_the_site_leave_code_unchanged(text, expected):
    def change(part):
        return part.replace("$x$", "CHANGED")

    assert site_hooks.outside_code(text, change) == expected


def test_links_inside_code_lead_nowhere():
    text = "[a](docs/a.md) `[b](docs/b.md)`\n````markdown\n[c](docs/c.md)\n````\n"
    assert site_hooks._targets(text, "README.md") == {"docs/a.md"}


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("a.html", '<script src="https://a.org/b.js"></script>', ["https://a.org/b.js"]),
        ("a.html", '<link rel="stylesheet" href="//a.org/b.css">', ["//a.org/b.css"]),
        ("a.html", '<p style="background: url(https://a.org/b.png)">', ["https://a.org/b.png"]),
        ("a.html", "<style>@import 'https://a.org/b.css';</style>", ["https://a.org/b.css"]),
        ("a.css", "@font-face {src: url(https://a.org/b.woff2)}", ["https://a.org/b.woff2"]),
        ("a.html", '<a href="https://a.org">a</a><img src="b.png"><link href="c.css">', []),
        ("a.txt", "https://a.org", []),
    ],
)
def test_what_is_loaded_from_elsewhere_is_found(name, text, found, tmp_path):
    (tmp_path / name).write_text(text)
    assert site_hooks.foreign(tmp_path / name) == found


@pytest.mark.slow
def test_the_site_is_searched_without_a_server(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if not executable:
        pytest.skip("no Chromium found: apt-get install chromium")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", tmp_path],
        cwd=DOCS.parent,
        check=True,
    )
    asked, told = [], []
    with playwright.sync_playwright() as driver:
        page = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"]).new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: told.append(message.text))
        page.goto((tmp_path / "index.html").as_uri())
        page.fill("input.md-search__input", "semi_global")
        page.wait_for_selector(".md-search-result__item")
        found = page.locator(".md-search-result__link").evaluate_all(
            "links => links.map(link => link.href)"
        )
    assert any("reference/stages/optimization.html" in link for link in found)
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert told == []
