"""The study of choosing without truth (docs/notes/method_choice.md): its leave-one-scene-out tables, and the numbers that the rule needs.

    STEREO_DATA=... python scripts/method_choice_study.py --out DIR

keeps maps and all that is measured of them in DIR, so that a second call takes seconds.
"""

import argparse
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import yaml
from counts import add_counts, start_of_run
from numpy.typing import NDArray

from stereo_framework import evaluate, load_scene, run
from stereo_framework.core.scene import Disparity
from stereo_framework.io import read_disparity, write_disparity
from stereo_framework.sweep.pseudo_truth import pseudo_truth_of
from stereo_framework.user_pair.matching import DEFAULT

SCENES = [
    f"{folder}/*"
    for folder in (
        "middlebury2001",
        "middlebury2003",
        "middlebury2005",
        "middlebury2006",
        "middlebury-v3/trainingQ",
    )
]
SCENES += ["motorcycle/motorcycle", "kitti/training2012", "kitti2015/*"]
SAME = [
    {"middlebury2005/Art", "middlebury-v3/trainingQ/ArtL"},
    {"middlebury-v3/trainingQ/Motorcycle", "motorcycle/motorcycle"},
]
"""Pairs of one scene: none of them is judged by what was learned from the other."""

SCRIPTS = Path(__file__).with_name("method_choice")
DEFAULTS = {
    "sgbm": "sgbm (matcher.mode=sgbm, matcher.block_size=3, matcher.p2=288)",
    "sgm": "sgm (optimization.p1=20, optimization.p2=100)",
    "fine": "fine (optimization.p1=80, optimization.p2=340)",
}

TRUE = {
    "base": "taxonomy2002",
    "metrics": ["bad_pixels"],
    "regions": ["nonocc"],
    "prediction": "none",
    "border": 0,
}
FILE = Path(__file__).parents[1] / "stereo_framework/user_pair/method_choice.yaml"
POWERS, NOMINAL, GAIN, BAD = (0.5, 0.75, 1.0), 0.9, 0.9, 3.0
Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measured:
    """Of one scene's maps: true errors and distances to the reference, (maps,), and how far maps differ, (maps, maps), all in percent."""

    scene: str
    names: list[str]
    errors: Numbers
    distances: Numbers
    shares: dict[str, Numbers]


def measured(script: Path, out: Path, folder: str, *, pairs: bool = True) -> list[Measured]:
    """The maps of all scenes, from what is kept in the folder as far as it is there; with how far each pair of them differs."""
    by_scene: dict[str, dict[str, Disparity]] = {}
    for r in run(script, scenes=SCENES, maps=True, out=out / folder):
        assert r.disparity is not None, f"{r.scene}, {r.setting_name}: {r.error}"
        by_scene.setdefault(r.scene, {})[r.setting_name] = r.disparity
    found = [_measured(name, maps, out, folder, pairs) for name, maps in by_scene.items()]
    assert all(m.names == found[0].names for m in found), (
        "every scene has the same maps in the same order"
    )
    return found


def _measured(
    name: str, maps: dict[str, Disparity], out: Path, folder: str, pairs: bool
) -> Measured:
    kept = out / f"{folder}_measured" / f"{name.replace('/', '-')}.npz"
    if not kept.is_file():
        scene, file = load_scene(name), out / "references" / f"{name.replace('/', '-')}.pfm"
        if not file.is_file():
            file.parent.mkdir(exist_ok=True)
            write_disparity(file, pseudo_truth_of(replace(scene, truths={})))
        pseudo_truth = read_disparity(file)
        known, found = np.isfinite(pseudo_truth), list(maps.values())
        apart = (
            np.array([[_far(a, b) for b in found] for a in found])
            if pairs
            else np.zeros((0, 0, *known.shape))
        )
        kept.parent.mkdir(exist_ok=True)
        np.savez(
            kept,
            names=list(maps),
            errors=[evaluate(d, scene, TRUE)["bad_pixels_nonocc"] for d in found],
            distances=[100 * _far(d, pseudo_truth)[known].mean() for d in found],
            known=100 * apart[:, :, known].mean(axis=2),
            every=100 * apart.mean(axis=(2, 3)),
        )
    with np.load(kept) as held:
        shares = {"known": held["known"], "all": held["every"]}
        return Measured(
            name, [str(n) for n in held["names"]], held["errors"], held["distances"], shares
        )


def _far(a: Disparity, b: Disparity) -> NDArray[np.bool_]:
    """Where two maps differ by more than a pixel, or only one has an estimate."""
    return ~(np.abs(a - b) <= 1) & (np.isfinite(a) | np.isfinite(b))


Case = tuple[Numbers, Numbers, dict[str, Numbers]]
"""Of the maps of a scene, each against another one: t, x, and S of either kind."""


@dataclass(frozen=True, eq=False)
class Rule:
    """An estimate of the difference of two maps' errors, k x + c r S, and half the width of its interval, q S^p."""

    share: str
    power: float
    slope: float
    quantile: float
    prior: float = 0.0
    ratios: Numbers | float = 0.0

    def interval(self, case: Case) -> tuple[Numbers, Numbers]:
        """Estimates and half the widths of their intervals."""
        share = case[2][self.share]
        return self.slope * case[
            1
        ] + self.prior * self.ratios * share, self.quantile * share**self.power


def learned(cases: list[Case], *, known: bool) -> Rule:
    """The rule of the narrowest mean interval that covers the nominal share of the cases; with what is known of methods before if that makes it narrower by a tenth."""
    plain, *with_prior = (
        _narrowest(cases, prior=prior) for prior in ((False, True) if known else (False,))
    )
    return min(
        [plain, *((width / GAIN, rule) for width, rule in with_prior)], key=lambda pair: pair[0]
    )[1]


def _narrowest(cases: list[Case], *, prior: bool) -> tuple[float, Rule]:
    t, x = (np.stack([case[i] for case in cases]) for i in (0, 1))
    found = []
    for share, power in product(cases[0][2], POWERS):
        s = np.maximum(np.stack([case[2][share] for case in cases]), 1e-9)
        total = (t / s).sum(axis=0)
        seen = (
            [x, (total - t / s) / (len(cases) - 1) * s] if prior else [x]
        )  # a scene's own part is no knowledge from before
        weighted = np.stack([(column / s**power).ravel() for column in seen], axis=1)
        slope, *rest = np.linalg.lstsq(weighted, (t / s**power).ravel(), rcond=None)[0]
        apart = np.abs((t / s**power).ravel() - weighted @ [slope, *rest])
        quantile = float(np.quantile(apart, NOMINAL))
        rule = Rule(
            share,
            power,
            float(slope),
            quantile,
            *(float(rest[0]), total / len(cases)) if prior else (),
        )
        found.append((float(np.mean(quantile * s**power)), rule))
    return min(found, key=lambda pair: pair[0])


def against(m: Measured, base: int) -> Case:
    """All other maps of a scene against one of them."""
    other = np.arange(len(m.names)) != base
    return (
        (m.errors - m.errors[base])[other],
        (m.distances - m.distances[base])[other],
        {k: s[base][other] for k, s in m.shares.items()},
    )


def all_pairs(m: Measured, family: str = "", *, within: bool = False) -> Case:
    """Each map of a scene against each one before it; with a family those without it, or within: those of one map of it and one that is not."""
    a, b = np.tril_indices(len(m.names), -1)
    of = np.array([_family(name) == family for name in m.names])
    kept = of[a] ^ of[b] if within else ~(of[a] | of[b])
    a, b = a[kept], b[kept]
    return (
        m.errors[a] - m.errors[b],
        m.distances[a] - m.distances[b],
        {k: s[a, b] for k, s in m.shares.items()},
    )


def _family(name: str) -> str:
    return name.partition(" ")[0].removesuffix("_settings")


@dataclass(frozen=True, eq=False)
class Judged:
    """A scene judged by a rule that was found without it."""

    scene: Measured
    default: int
    case: Case
    low: Numbers
    high: Numbers

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether each interval holds the difference; 1e-6 for the rounding of sums in the last digits."""
        return (self.low - 1e-6 <= self.case[0]) & (self.case[0] <= self.high + 1e-6)

    @property
    def chosen(self) -> int:
        """The default, or of the better maps the one of the lowest estimate."""
        better = np.flatnonzero(self.high < 0)
        if not better.size:
            return self.default
        best = better[(self.low + self.high)[better].argmin()]
        return int(best + (best >= self.default))


def left_out(scenes: list[Measured], kind: bool = False) -> list[Judged]:
    """Each scene judged with what was learned from all others, or from those of the other kind."""
    found = []
    for m in scenes:
        rest = [o for o in scenes if not (_kind(o) == _kind(m) if kind else _same(o, m))]
        default = int(np.mean([o.errors for o in rest], axis=0).argmin())
        rule = learned([against(o, default) for o in rest], known=True)
        estimate, half = rule.interval(case := against(m, default))
        found.append(Judged(m, default, case, estimate - half, estimate + half))
    return found


def _same(a: Measured, b: Measured) -> bool:
    return a is b or {a.scene, b.scene} in SAME


def _kind(m: Measured) -> bool:
    return m.scene.partition("/")[0].startswith("kitti")


def table(header: list[str], rows: list[list[object]]) -> None:
    """Print a table as Markdown."""
    for row in (header, ["---"] * len(header), *rows):
        print("|", " | ".join(f"{v:.2f}" if isinstance(v, float) else str(v) for v in row), "|")
    print()


def print_choices(judged: list[Judged]) -> None:
    """What choosing costs, scene by scene, and how often the intervals hold."""
    rows, costs = [], []
    for j in judged:
        m, best = j.scene, j.scene.errors.min()
        costs.append([m.errors[i] - best for i in (j.default, int(m.distances.argmin()), j.chosen)])
        t = j.case[0]
        groups = [
            f"{n} ({right})"
            for n, right in (
                (int(g.sum()), int((g & ok).sum()))
                for g, ok in ((j.high < 0, t < 0), (j.low > 0, t > 0))
            )
        ]
        rows.append(
            [
                m.scene,
                m.names[int(m.errors.argmin())],
                float(best),
                *map(float, costs[-1]),
                m.names[j.chosen],
                *groups,
                f"{100 * j.covered.mean():.0f}",
            ]
        )
    for name, of in (("mean", np.mean), ("worst", np.max)):
        rows.append(
            [
                f"**{name}**",
                "",
                "",
                *map(float, of(costs, axis=0)),
                "",
                "",
                "",
                f"{100 * np.mean([j.covered.mean() for j in judged]):.1f}"
                if name == "mean"
                else "",
            ]
        )
    table(
        [
            "scene",
            "best",
            "its error %",
            "default costs",
            "nearest costs",
            "rule costs",
            "rule's choice",
            "better (right)",
            "worse (right)",
            "covered %",
        ],
        rows,
    )
    bad = np.concatenate([j.low[j.case[0] >= BAD] > 0 for j in judged])
    width = np.mean([(j.high - j.low).mean() / 2 for j in judged])
    print(
        f"bad maps called worse: {100 * bad.mean():.1f} % of {bad.size}; mean half width {width:.2f} points\n"
    )


def main() -> None:
    """Compute maps, measure them, and print all tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    start = start_of_run()
    scenes = measured(SCRIPTS / "compared.yaml", out, "sweep")
    judged_scenes = left_out(scenes)
    print("## Leave one scene out\n")
    print_choices(judged_scenes)
    print("## Leave one kind out\n")
    print_choices(left_out(scenes, kind=True))
    print("## A user's own maps\n")
    print_pairs(scenes)
    print("## Tuned without truth\n")
    print_tuned(measured(SCRIPTS / "tuned.yaml", out, "tuned", pairs=False))
    write(scenes)
    add_counts(
        "method_choice",
        "python scripts/method_choice_study.py --out DIR",
        "choices",
        {**start, **counts_of_choices(judged_scenes)},
    )


def counts_of_choices(judged_scenes: list[Judged]) -> dict[str, int]:
    """Count pairs, choices of the default, and the verdicts on all other maps."""
    default_is_best = [int(scene.scene.errors.argmin()) == scene.default for scene in judged_scenes]
    worse_maps = [scene.low > 0 for scene in judged_scenes]
    right_verdicts = [
        worse & (scene.case[0] > 0) for worse, scene in zip(worse_maps, judged_scenes, strict=True)
    ]
    return {
        "pairs": len(judged_scenes),
        "pairs_with_the_default_chosen": sum(
            scene.chosen == scene.default for scene in judged_scenes
        ),
        "pairs_with_the_default_best": sum(default_is_best),
        "maps_called_better": int(sum((scene.high < 0).sum() for scene in judged_scenes)),
        "maps_called_worse": int(sum(worse.sum() for worse in worse_maps)),
        "maps_rightly_called_worse": int(sum(verdicts.sum() for verdicts in right_verdicts)),
    }


def write(scenes: list[Measured]) -> None:
    """The rules of all scenes, which the package uses: for built-in methods, known before, and for maps of one's own."""
    names, default = scenes[0].names, int(np.mean([m.errors for m in scenes], axis=0).argmin())
    known, own = (
        learned([against(m, default) for m in scenes], known=True),
        learned([all_pairs(m) for m in scenes], known=False),
    )
    assert names[default] == DEFAULT, (
        f"the default is {DEFAULT}, and {names[default]} is better on scenes with truth"
    )
    assert known.share == own.share == "known", (
        "the package counts the pixels that the pseudo ground truth knows"
    )
    found = {
        kind: {
            key: round(float(getattr(rule, key)), 3)
            for key in ("slope", "prior", "quantile", "power")
        }
        for kind, rule in (("known", known), ("own", own))
    }
    others = [n for n in names if n != DEFAULT]
    ratios = np.broadcast_to(known.ratios, len(others)).tolist()
    ratios = {n: round(r, 3) for n, r in zip(others, ratios, strict=True) if "_settings" not in n}
    said = "# Written by scripts/method_choice_study.py; what the numbers are, `user_pair.method_choice.compare_without_ground_truth` says.\n"
    FILE.write_text(said + yaml.safe_dump({**found, "ratios": ratios}, sort_keys=False), "utf-8")
    print(f"rules in {FILE}")


def print_tuned(scenes: list[Measured]) -> None:
    """What the setting nearest to the reference gives, beside the default, the setting that is best on the other scenes, and the best."""
    rows = []
    for method, default in DEFAULTS.items():
        errors, distances = (
            np.array(
                [
                    [
                        v
                        for n, v in zip(m.names, getattr(m, what), strict=True)
                        if n.startswith(method)
                    ]
                    for m in scenes
                ]
            )
            for what in ("errors", "distances")
        )
        at = [n for n in scenes[0].names if n.startswith(method)].index(default)
        constant = [
            np.mean(
                [e for e, o in zip(errors, scenes, strict=True) if not _same(o, m)], axis=0
            ).argmin()
            for m in scenes
        ]
        found = np.stack(
            [
                errors[:, at],
                *(
                    errors[np.arange(len(scenes)), i]
                    for i in (constant, distances.argmin(axis=1), errors.argmin(axis=1))
                ),
            ]
        )
        lost = found[2] - found[1]
        rows.append(
            [
                method,
                errors.shape[1],
                *map(float, found.mean(axis=1)),
                f"{int((lost < 0).sum())}, {int((lost > 0).sum())}",
                float(lost.max()),
            ]
        )
    header = [
        "method",
        "settings",
        "default %",
        "best of other scenes %",
        "tuned %",
        "best %",
        "scenes better, worse than the best of other scenes",
        "at worst by",
    ]
    table(header, rows)


def print_pairs(scenes: list[Measured]) -> None:
    """How often the intervals of two maps of which nothing is known before hold, scene by scene, and for maps of a family that was not learned from."""
    header = ["covered %", "told apart %", "of these rightly %", "of 3 points and more, rightly %"]
    rows = [[m.scene, *_pairs(m, scenes)] for m in scenes]
    table(
        ["scene", *header],
        [*rows, ["**mean**", *np.mean([row[1:] for row in rows], axis=0).tolist()]],
    )
    families = dict.fromkeys(map(_family, scenes[0].names))
    table(
        ["left out", *header],
        [[f, *np.mean([_pairs(m, scenes, f) for m in scenes], axis=0).tolist()] for f in families],
    )


def _pairs(m: Measured, scenes: list[Measured], family: str = "") -> list[float]:
    rule = learned([all_pairs(o, family) for o in scenes if not _same(o, m)], known=False)
    t, *_ = case = all_pairs(m, family, within=bool(family))
    estimate, half = rule.interval(case)
    told, bad = np.abs(estimate) > half, np.abs(t) >= BAD
    right = told & (np.sign(estimate) == np.sign(t))
    shares = (
        (np.abs(t - estimate) <= half + 1e-6).mean(),
        told.mean(),
        right.sum() / max(told.sum(), 1),
        right[bad].sum() / max(bad.sum(), 1),
    )
    return [float(100 * share) for share in shares]


if __name__ == "__main__":
    main()
