"""What mkdocs does for the site besides rendering docs: pages made from the program, files from outside docs, formulas, and no content from other sites.

``mkdocs.yml`` names this file among its hooks.
"""

import fnmatch
import functools
import json
import posixpath
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import site_pages
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
FRONT = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Files outside docs, and the pages that they become on the site."""
FOLDERS = {"examples/stages": "howto/examples.md"}
"""The same for folders."""
COPIES = "source"
"""Folder of the site for other files that pages link to, such as scripts."""
LINK = re.compile(r"(?<=\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
CODE = re.compile(r"^ *(?P<fence>`{3,}).*?^ *(?P=fence)$|(?<!`)`[^`\n]+`", re.MULTILINE | re.DOTALL)
"""Blocks and words of code, in which links and dollars have no meaning."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made, and copies of what pages link to outside docs; then let stars in the navigation stand for pages."""
    texts = {name: (ROOT / name).read_text() for name in FRONT}
    made = {page: _moved(texts[name], page, name) for name, page in FRONT.items()}
    made |= site_pages.pages(DOCS)
    for path in sorted(DOCS.glob("tutorials/*.ipynb")):
        made[f"tutorials/{path.stem}.md"] = notebook(path)
    for uri, text in made.items():
        files.append(File.generated(config, uri, content=text))
    texts |= {
        f"docs/{path.relative_to(DOCS).as_posix()}": path.read_text() for path in DOCS.rglob("*.md")
    }
    copied = {
        target
        for name, text in texts.items()
        for target in _targets(text, name)
        if not target.startswith("docs/")
    }
    for target in sorted(copied - FRONT.keys() - FOLDERS.keys()):
        files.append(File.generated(config, f"{COPIES}/{target}", abs_src_path=str(ROOT / target)))
    pages = sorted(file.src_uri for file in files if file.src_uri.endswith(".md"))
    config.nav = spread(config.nav, pages)
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links to the files' places on the site, add the generated parts to the pages of methods, and typeset formulas."""
    uri = page.file.src_uri
    if page.file.generated_by is None:
        markdown = _moved(markdown, uri, f"docs/{uri}")
    markdown += site_pages.appended(uri, DOCS)
    return outside_code(markdown, _formulas)


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a Markdown text with a function applied to its parts that are no code."""
    parts = []
    position = 0
    for match in CODE.finditer(text):
        parts += [change(text[position : match.start()]), match[0]]
        position = match.end()
    parts.append(change(text[position:]))
    return "".join(parts)


def on_post_build(config: Any) -> None:
    """Refuse pages and styles that load something from another site."""
    found = {
        str(path.relative_to(config.site_dir)): foreign(path)
        for path in Path(config.site_dir).rglob("*.*")
    }
    told = [f"{path}: {address}" for path, addresses in found.items() for address in addresses]
    if told:
        raise PluginError("the site loads from elsewhere:\n" + "\n".join(told))


def spread(nav: Any, pages: list[str]) -> Any:
    """The navigation with each pattern replaced by the matching pages that no entry names; a page goes to the first pattern that it matches."""
    left = set(pages) - set(_named(nav))

    def take(item: Any) -> list[Any]:
        if isinstance(item, dict):
            [(title, below)] = item.items()
            found = [
                entry
                for part in ([below] if isinstance(below, str) else below)
                for entry in take(part)
            ]
            return (
                [{title: found[0] if isinstance(below, str) and "*" not in below else found}]
                if found
                else []
            )
        if "*" not in item:
            return [item]
        # A star does not reach into folders.
        matching = sorted(
            p for p in left if fnmatch.fnmatch(p, item) and p.count("/") == item.count("/")
        )
        left.difference_update(matching)
        return matching

    return [entry for item in nav for entry in take(item)]


def _named(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    return [
        name for part in (nav.values() if isinstance(nav, dict) else nav) for name in _named(part)
    ]


def _target(link: str, name: str) -> str:
    """The file that a link of a file leads to, from the root of the repository; empty for addresses."""
    return (
        "" if "://" in link else posixpath.normpath(posixpath.join(posixpath.dirname(name), link))
    )


def _targets(text: str, name: str) -> set[str]:
    """Return the files that the links of a text lead to."""
    links = [link for link, _ in LINK.findall(CODE.sub("", text))]
    return {_target(link, name) for link in links} - {""}


def _moved(text: str, uri: str, name: str) -> str:
    """The text of a file as that of a page, its links changed to where their targets are on the site."""

    def move(match: re.Match[str]) -> str:
        target = _target(match[1], name)
        if not target:
            return match[0]
        place = (FRONT | FOLDERS).get(target) or (
            target[5:] if target.startswith("docs/") else f"{COPIES}/{target}"
        )
        place = re.sub(r"^(tutorials/.*)\.ipynb$", r"\1.md", place)
        return posixpath.relpath(place, posixpath.dirname(uri) or ".") + match[2]

    return outside_code(text, functools.partial(LINK.sub, move))


def _formulas(text: str) -> str:
    """TeX between dollars as MathML, which browsers show by themselves."""
    text = re.sub(r"\$\$(.+?)\$\$", lambda m: convert(m[1], display="block"), text, flags=re.DOTALL)
    return re.sub(r"\$([^$\n]+)\$", lambda m: convert(m[1]), text)


def notebook(path: Path) -> str:
    """A notebook as a page: its text, its code and its output."""
    parts = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts += [f"```python\n{source}\n```", *(_output(output) for output in cell["outputs"])]
    head, _, rest = "\n\n".join(part for part in parts if part).partition("\n")
    return f"{head}\n\n[Download this notebook]({path.name}) and run it with Jupyter.\n{rest}\n"


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return (
            f'<img alt="output" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
        )
    if "text/html" in data:
        return f"<div>{''.join(data['text/html'])}</div>"
    text = "".join(output.get("text") or data.get("text/plain") or "")
    return f"```text\n{text.rstrip()}\n```" if text else ""


class _Loads(HTMLParser):
    """Collects what a page loads by itself; links that a reader may follow do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        names = [
            "src",
            "srcset",
            "data",
            "poster",
            *(["href"] if tag in {"link", "image", "use"} else []),
        ]
        self.found += [given[name] for name in names if name in given] + _addresses(
            given.get("style", "")
        )


def _addresses(style: str) -> list[str]:
    return re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')\s;]+)", style)


def foreign(path: Path) -> list[str]:
    """What a page or style sheet loads from other sites."""
    if path.suffix not in {".html", ".css", ".svg"}:
        return []
    text = path.read_text()
    if path.suffix == ".css":
        found = _addresses(text)
    else:
        parser = _Loads()
        parser.feed(text)
        found = parser.found + _addresses(
            "".join(re.findall(r"<style.*?</style>", text, re.DOTALL))
        )
    return [address for address in found if re.match(r"(https?:)?//", address)]
