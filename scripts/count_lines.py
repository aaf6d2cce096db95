"""Lines of code by room: without blank lines, comments and docstrings.

    python scripts/count_lines.py [FOLDER]

FOLDER is a checkout; default: this one. Rooms are the folders of the package; the files beside them form one more room.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

_NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


def code_lines(source: str) -> int:
    """Lines of a Python file that hold code.

    Examples
    --------
    >>> code_lines('"A module."' + chr(10) + 'x = 1  # one' + chr(10) + chr(10) + '# nothing' + chr(10))
    1
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        # A string that is a statement of its own documents what precedes or encloses it.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(lines)


def rooms(checkout: Path) -> tuple[Counter[str], Counter[str]]:
    """Lines of code and number of files by room."""
    package = checkout / "stereo_framework"
    lines, files = Counter[str](), Counter[str]()
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).parts
        room = parts[0] if len(parts) > 1 else "(top)"
        lines[room] += code_lines(path.read_text(encoding="utf-8"))
        files[room] += 1
    return lines, files


def main() -> None:
    """Print the rooms, the largest first, and the total."""
    lines, files = rooms(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1])
    for room, count in [*lines.most_common(), ("total", lines.total())]:
        print(f"{room:16} {count:6} lines {files[room] or files.total():4} files")


if __name__ == "__main__":
    main()
