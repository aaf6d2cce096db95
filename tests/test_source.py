"""What no source file of the package may do."""

import ast
import re
from pathlib import Path

import stereo_framework


def test_every_text_file_has_an_encoding():
    """Without one a text is read and written in the system's, which on Windows is not that of the next machine."""
    package = Path(stereo_framework.__file__).parent
    found = []
    texts = ((path, path.read_text(encoding="utf-8")) for path in package.rglob("*.py"))
    for path, text in texts:
        # Few have such a call at all.
        for node in ast.walk(
            ast.parse(text if re.search("read_text|write_text|open", text) else "")
        ):
            if not isinstance(node, ast.Call) or any(
                word.arg == "encoding" for word in node.keywords
            ):
                continue
            name = (
                node.func.attr
                if isinstance(node.func, ast.Attribute)
                else getattr(node.func, "id", "")
            )
            modes = [one.value for one in node.args if isinstance(one, ast.Constant)]
            if name in ("read_text", "write_text") and len(node.args) < (
                1 if name == "read_text" else 2
            ):
                found.append(f"{path.name}:{node.lineno}")
            if (
                name == "open"
                and isinstance(node.func, ast.Name)
                and not any("b" in str(mode) for mode in modes)
            ):
                found.append(f"{path.name}:{node.lineno}")
    assert found == []
