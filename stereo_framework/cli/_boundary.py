"""What ``rank --boundary`` prints: error rates against sparsity, efficiencies, improvements, the feasibility boundary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stereo_framework.cli import _options as opt
from stereo_framework.cli import _output
from stereo_framework.core.errors import ParameterError, nearest

if TYPE_CHECKING:
    from stereo_framework.evaluation.roc import Point
    from stereo_framework.tables.boundary import Boundary


def rank_by_boundary(
    folders: Sequence[Path],
    *,
    protocol: str | None,
    weight: Sequence[str],
    error_rate: float | None,
    density: float | None,
    drop_incomplete: bool,
    out: Path | None,
    json: bool,
) -> int:
    """Compare methods by error rate against sparsity, and answer a wish; returns the exit status."""
    from stereo_framework.tables.boundary import boundary as collect
    from stereo_framework.tables.boundary import script_of
    from stereo_framework.tables.results import stored

    if error_rate is not None and density is not None:
        raise ParameterError("--error-rate and --density are two wishes; give one")
    results = [r for folder in folders for r in stored(folder) if protocol in (None, r.protocol)]
    scenes = list(dict.fromkeys(r.scene for r in results))
    found = collect(results, _weights(weight, scenes), drop_incomplete=drop_incomplete)
    wished = error_rate is not None or density is not None
    answer = found.choose(error_rate=error_rate, density=density) if wished else None
    if out is not None:
        _plots(found, out)
    script = None
    if answer is not None and out is not None:
        import yaml

        from stereo_framework.io import output_folder, write_bytes

        script = out / "answer.yaml"
        with output_folder(out):
            write_bytes(script, yaml.safe_dump(script_of(answer, results), sort_keys=False).encode())
    if json:
        boundaries = {scene: found.feasible(scene) for scene in found.points}
        record = {"efficiencies": found.efficiencies(), "improvements": found.improvements(), "boundary": boundaries}
        _output.print_json([record | {"answer": answer}])
        return 0
    _matrix("E: efficiency, 1 = ideal; Expected: of the mean curve", found.efficiencies())
    _matrix("I(row | column): what the row's mean curve gains over the column's", found.improvements())
    for scene in found.points:
        rows = [
            [f"{p.sparsity_rate:.4f}", f"{p.error_rate:.4f}", p.method, _setting(p, found.points[scene][p.method])]
            for p in found.feasible(scene)
        ]
        _output.print_table(["sparsity_rate", "error_rate", "method", "setting"], rows, title=f"feasibility boundary of {scene}")
    if wished:
        if answer is None:
            print("no known setting meets this wish on the mean of the scenes")
            return 1
        _output.say(
            f"{answer.method}: error rate {answer.error_rate:.4f}, density {1 - answer.sparsity_rate:.4f} on the mean of {len(scenes)} scenes"
        )
        _output.say(f"  {_setting(answer, found.mean[answer.method])}")
        print(f"script: {script}" if script else "--out DIR writes it as a script")
    if out is not None:
        print(f"plots in {out}")
    return 0


def _weights(given: Sequence[str], scenes: list[str]) -> dict[str, float] | None:
    if not given:
        return None
    weights = dict.fromkeys(scenes, 1.0)
    for text in given:
        name, value = opt.key_value(text, "--weight")
        full = [s for s in scenes if s == name or s.endswith(f"/{name}")]
        if len(full) != 1:
            raise ParameterError(
                f"--weight {text!r}: no such scene; {nearest(name, [s.rpartition('/')[2] for s in scenes], kind='scenes')}"
            )
        try:
            weights[full[0]] = float(value)
        except ValueError:
            raise ParameterError(f"--weight {text!r}: {value!r} is not a number") from None
    return weights


def _matrix(title: str, values: Mapping[str, Mapping[str, float]]) -> None:
    named = {name for row in values.values() for name in row}
    columns = list(values) if named <= set(values) else list(dict.fromkeys(name for row in values.values() for name in row))
    rows = [[name, *(f"{row[c]:.3f}" if c in row else "-" for c in columns)] for name, row in values.items()]
    _output.print_table(["method", *columns], rows, title=title)


def _setting(point: Point, others: list[Point]) -> str:
    """What tells a point from the others of its method."""
    varied = [k for k, v in point.parameters.items() if any(p.parameters.get(k) != v for p in others)]
    return ", ".join(f"{k}={point.parameters[k]}" for k in varied) or "the only setting"


def _plots(found: Boundary, out: Path) -> None:
    from stereo_framework.figures.roc_plot import roc_figure
    from stereo_framework.figures.saving import save_figure
    from stereo_framework.io import file_stem, output_folder

    with output_folder(out):
        for scene, methods in found.points.items():
            figure = roc_figure(methods, boundary=found.feasible(scene), title=scene)
            save_figure(figure, out / f"roc_{file_stem(scene)}", "")
        figure = roc_figure(found.mean, boundary=found.cases()["mean"], title=f"mean of {len(found.points)} scenes")
        save_figure(figure, out / "roc_mean", "")
