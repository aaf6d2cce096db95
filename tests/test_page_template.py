"""Pages that are declared to follow the template have its parts."""

from pathlib import Path

import pytest
from page_template import CHECKS, missing_parts, required_parts, skeleton

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]

TEMPLATE_PAGES = {
    "docs/start.md": "tutorial",
    "docs/names.md": "reference",
    "docs/howto/build_a_method.md": "how-to guide",
    "docs/howto/import.md": "how-to guide",
    "docs/howto/more_images.md": "how-to guide",
    "docs/howto/significance.md": "how-to guide",
    "docs/howto/editor.md": "how-to guide",
    "docs/troubleshooting.md": "how-to guide",
    "docs/architecture.md": "explanation",
}
"""Kind of each page that follows the template. A page is added when it is rewritten."""

PAGE = """\
# Measure a disparity map

This page shows how to measure a disparity map. You need the installed command.

```sh
stereo-framework evaluate mine.pfm --scene synthetic/planes
```

```text
bad_pixels_all  6.25
```

## Problems that can occur

The map has another size. Crop the map.

## Next pages

[Sweep](sweep.md) shows how to sweep parameters.
"""
"""Page that has all parts of a how-to guide."""


@pytest.mark.parametrize("page", TEMPLATE_PAGES)
def test_a_page_of_the_list_follows_the_template(page):
    text = (ROOT / page).read_text("utf-8")
    assert missing_parts(page, text, TEMPLATE_PAGES[page]) == []


def test_the_skeleton_in_contributing_follows_the_template():
    assert missing_parts("skeleton", skeleton(), "how-to guide") == []


def test_the_table_in_contributing_has_four_kinds_and_all_parts():
    parts = required_parts()
    assert list(parts) == ["tutorial", "how-to guide", "reference", "explanation"]
    assert parts["tutorial"] == parts["how-to guide"] == set(CHECKS)
    assert parts["explanation"] == {"purpose and readers", "prerequisites", "next pages"}


@pytest.mark.parametrize(
    ("removed", "substitute", "part"),
    [
        ("This page shows how", "Here we show how", "purpose and readers"),
        ("This page shows", "![Map](map.png)\n\nThis page shows", "purpose and readers"),
        ("This page shows", "Maps differ. This page shows", "purpose and readers"),
        ("# Measure", "Measure", "purpose and readers"),
        ("You need the installed command.", "", "prerequisites"),
        ("```text\nbad_pixels_all  6.25\n```\n", "", "smallest example with its output"),
        ("## Problems that can occur", "## Limits", "problems that can occur"),
        ("The map has another size. Crop the map.\n", "", "problems that can occur"),
        ("[Sweep](sweep.md) shows", "Another page shows", "next pages"),
        ("## Next pages", "## More", "next pages"),
        ("parameters.\n", "parameters.\n\n## Notes\n\nNone.\n", "next pages"),
    ],
)
def test_a_page_without_a_part_is_reported_with_its_name(removed, substitute, part):
    assert missing_parts("docs/a.md", PAGE, "how-to guide") == []
    text = PAGE.replace(removed, substitute, 1)
    messages = missing_parts("docs/a.md", text, "how-to guide")
    assert any(message.startswith(f"docs/a.md: the part '{part}'") for message in messages)


def test_the_last_paragraph_may_name_the_next_pages():
    text = PAGE.replace("## Next pages\n\n[Sweep](sweep.md) shows", "Next: [sweep](sweep.md) shows")
    assert missing_parts("docs/a.md", text, "how-to guide") == []


def test_words_inside_blocks_are_no_parts_of_a_page():
    text = PAGE.replace("## Problems that can occur", "```sh\n# Problems\nls\n```\n\n## Limits")
    [message] = missing_parts("docs/a.md", text, "how-to guide")
    assert "'problems that can occur'" in message
