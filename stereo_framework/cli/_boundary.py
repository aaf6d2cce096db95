"""What ``rank --boundary`` prints: error rates against sparsity, efficiencies, improvements, the feasibility boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from stereo_framework.cli import _output

if TYPE_CHECKING:
    from stereo_framework.evaluation.roc import Point
    from stereo_framework.sweep import Result


def print_boundary(results: Sequence[Result], *, json: bool) -> None:
    """Compare methods by error rate against sparsity."""
    from stereo_framework.tables.boundary import boundary

    found = boundary(results)
    feasible = {scene: found.feasible(scene) for scene in found.points}
    if json:
        _output.print_json([{"efficiencies": found.efficiencies(), "improvements": found.improvements(), "boundary": feasible}])
        return
    _matrix("E: efficiency, 1 = ideal; Expected: of the mean curve", found.efficiencies())
    _matrix("I(row | column): what the row's mean curve gains over the column's", found.improvements())
    for scene, points in feasible.items():
        rows = [
            [f"{p.sparsity_rate:.4f}", f"{p.error_rate:.4f}", p.method, _setting(p, found.points[scene][p.method])]
            for p in points
        ]
        _output.print_table(["sparsity_rate", "error_rate", "method", "setting"], rows, title=f"feasibility boundary of {scene}")


def _matrix(title: str, values: Mapping[str, Mapping[str, float]]) -> None:
    columns = list(dict.fromkeys(name for row in values.values() for name in row))
    columns = list(values) if set(columns) <= set(values) else columns
    rows = [[name, *(f"{row[c]:.3f}" if c in row else "-" for c in columns)] for name, row in values.items()]
    _output.print_table(["method", *columns], rows, title=title)


def _setting(point: Point, others: list[Point]) -> str:
    """What tells a point from the others of its method."""
    from stereo_framework.tables.values import word

    varied = [k for k, v in point.parameters.items() if any(p.parameters.get(k) != v for p in others)]
    return ", ".join(f"{k}={word(point.parameters[k])}" for k in varied) or "the only setting"
