"""Data on each side of every rule of taxonomy2002, by the name of the sentence: with which it must hold, and, different in one place, with which it must not."""

import itertools
from collections.abc import Callable, Mapping
from types import SimpleNamespace

from made_results import result

from stereo_framework.papers.comparison import published_table, raw_table
from stereo_framework.papers.taxonomy2002.claims import KEYS, METHODS, REGIONS

AD, SD = "absolute_difference", "squared_difference"
SCENES = ("tsukuba", "sawtooth", "venus")
TRUNCATIONS = (1, 2, 5, 10, 20, 50, None)
SCALES = {"nonocc": 1, "textureless": 0.5, "discont": 2}

Change = Callable[[SimpleNamespace], float]
"""What is added to the percentage of a setting: scene, method, region and the parameters."""


def made(scene, method, parameters, error, change, **more):
    """A result whose percentages are `error` in proportion to the region, and changed in places."""
    settings = {name: parameters.get(name) for name in KEYS}
    statistics = {
        f"bad_pixels_{region}": SCALES[region] * error
        + change(SimpleNamespace(scene=scene, method=method, region=region, **settings))
        for region in REGIONS
    }
    named = {KEYS[name]: value for name, value in parameters.items()}
    return result(
        f"middlebury2001/{scene}", {}, statistics, method=method, parameters=named, **more
    )


def nothing(at):
    return 0


def curves(change: Change = nothing, *, untruncated: float = 10, methods=("m",), costs=(AD, SD)):
    """Experiments 1 to 3: 20 is the best truncation on two scenes, 10 on the third; with a low value of `untruncated` none is."""
    found = []
    for scene, m, cost, birchfield_tomasi, t in itertools.product(
        SCENES, methods, costs, (False, True), TRUNCATIONS
    ):
        swapped = {10: 20, 20: 10} if scene == "venus" else {}
        error = {1: 30, 2: 25, 5: 12, 10: 9, 20: 8, 50: 9.5, None: untruncated}[swapped.get(t, t)]
        error += 0.1 * (cost == SD) - birchfield_tomasi * (
            (5 if t in (1, 2) else 0.1) + (m == "so")
        )
        found.append(
            made(
                scene,
                m,
                {"cost": cost, "birchfield_tomasi": birchfield_tomasi, "truncation": t},
                error,
                change,
            )
        )
    return found


def shifted(change: Change = nothing):
    """Experiment 2, another script."""
    return curves(change, untruncated=7, methods=("other",))


def supports(changed: Mapping[tuple[str, str, str], list[float]] | None = None):
    """Experiment 4, of four sizes: by scene, method and region other percentages from small to large."""
    found = []
    percent = {
        "nonocc": [20, 10, 8, 12],
        "textureless": [30, 20, 10, 5],
        "discont": [20, 10, 15, 25],
    }
    lead = {"nonocc": 2, "textureless": 2, "discont": 3}
    for scene, method, i in itertools.product(SCENES, ("box", "shiftable", "membrane"), range(4)):
        own = {
            f"bad_pixels_{r}": (changed or {}).get(
                (scene, method, r), [v - lead[r] * (method == "shiftable") for v in values]
            )[i]
            for r, values in percent.items()
        }
        found.append(result(f"middlebury2001/{scene}", {}, own, method=method))
    return found


def weights(change: Change = nothing, energy: Change = nothing):
    """Experiment 5: the best weight is 200 on map, 20 on tsukuba and 50 on venus; DP is better than SO on tsukuba, and worse on the others."""
    found = []
    runs = (
        [("dp", {"occlusion": c}) for c in (20, 50)]
        + [("so", {}), ("gc", {"seed": 0})]
        + [("sa", {"seed": s}) for s in range(3)]
    )
    best = {"tsukuba": 20, "venus": 50, "map": 200}
    for scene, weight, (method, own) in itertools.product(best, (10, 20, 50, 200, 500), runs):
        settings = {"weight": weight, **own}
        error = {"dp": 8, "so": 9, "gc": 4, "sa": 6}[method] + 1.5 * (
            method == "dp" and scene != "tsukuba"
        )
        error += (weight != best[scene]) + 0.1 * own.get("seed", 0)
        if method == "dp" and own["occlusion"] == 50:
            # Another cost wants another weight.
            error += 0.5 + 0.6 * (weight == best[scene]) - 1.5 * (weight == 20 and scene == "venus")
        place = SimpleNamespace(scene=scene, method=method, **{"seed": None} | settings)
        found.append(
            made(
                scene,
                method,
                settings,
                error,
                change,
                energy={"gc": 100, "sa": 101}.get(method, 110) + energy(place),
            )
        )
    return found


def cuts(change: Change = nothing):
    """Experiment 6: penalty 2 is better, on venus 4; the map scene has a weight of its own."""
    found = []
    for scene, birchfield_tomasi, penalty, seed in itertools.product(
        (*SCENES, "map"), (False, True), (1, 2, 4), range(3)
    ):
        order = {2: 4, 4: 2} if scene == "venus" else {}
        error = (
            {1: 5, 2: 4, 4: 4.5}[order.get(penalty, penalty)]
            - 0.5 * birchfield_tomasi
            + 0.01 * seed
        )
        own = {
            "birchfield_tomasi": birchfield_tomasi,
            "penalty": penalty,
            "seed": seed,
            "weight": 50 if scene == "map" else 20,
        }
        found.append(made(scene, "gc", own, error, change))
    return found


def scanlines(change: Change = nothing):
    """Experiment 6 with scan lines; at other weights and occlusion costs, which Figure 14 does not have, nothing helps."""
    found = []
    runs = [("dp", {"occlusion": c}) for c in (20, 50)] + [("so", {})]
    places = itertools.product((*SCENES, "map"), (False, True), (1, 2, 4), (20, 50), runs)
    for scene, birchfield_tomasi, penalty, weight, (method, own) in places:
        shown = weight == (50 if scene == "map" else 20) and own.get("occlusion") != 50
        error = 10 - (0.2 * birchfield_tomasi + (penalty > 1) * (1 if method == "so" else 0.5)) * (
            1 if shown else -10
        )
        settings = {
            "birchfield_tomasi": birchfield_tomasi,
            "penalty": penalty,
            "weight": weight,
            **own,
        }
        worse = 0.3 * (scene == "venus" and birchfield_tomasi)
        found.append(
            made(
                scene,
                method,
                settings,
                error,
                lambda at, w=worse: change(at) + w * (at.region == "textureless"),
            )
        )
    return found


def sub_pixel(change=lambda axes, statistic: 0):
    """Experiment 7: the fit lowers the RMS error, intervals do at whole pixels alone, blur raises it, and the prediction error stays."""
    found = []
    for scene, blur, birchfield_tomasi, step, fit in itertools.product(
        ("plane", "crop"),
        ("none", "binomial_blur"),
        (False, True),
        (1, 0.5, 0.25),
        ("none", "parabola"),
    ):
        axes = {
            "preprocessing": blur,
            "matching_cost.birchfield_tomasi": birchfield_tomasi,
            "search.step": step,
            "refinement": fit,
        }
        value = (
            1
            - 0.2 * (fit != "none")
            + 0.1 * (blur != "none")
            + step
            + 0.05 * birchfield_tomasi * (1 if step < 1 else -1)
        )
        given = {
            "rms_error_textured": value,
            "rms_error_all": 9 - value,
            "predict_err_match": 2 - 0.09 * (fit != "none"),
        }
        found.append(
            result(
                scene,
                axes,
                {name: v + change(axes | {"scene": scene}, name) for name, v in given.items()},
            )
        )
    return found


def at(value, **where):
    """A change by a value where the setting is so, in one place or several."""
    return lambda given: (
        value
        * all(getattr(given, k) in (v if isinstance(v, tuple) else (v,)) for k, v in where.items())
    )


def in_one(value, statistic="rms_error_textured", **where):
    """Another value of a statistic on the crop, in the settings whose axes, with - for the dot, are these."""
    places = {key.replace("__", "."): v for key, v in where.items()} | {"scene": "crop"}
    return lambda axes, name: (
        value * (name == statistic and all(axes[k] == v for k, v in places.items()))
    )


FITTED = {
    "preprocessing": "none",
    "matching_cost__birchfield_tomasi": False,
    "search__step": 1,
    "refinement": "parabola",
}
"""Figure 15 c."""


def table(change=None):
    """Table 5 with our five rows as printed, and columns changed in them."""
    published = published_table("taxonomy2002", "table5")
    return published, {
        row: {**published.rows[row], **(change or {}).get(row, {})} for row in METHODS.values()
    }


def rows(change=None):
    """The rows of Table 5, changed by their numbers, and these numbers."""
    published = published_table("taxonomy2002", "table5").rows
    numbers = raw_table("taxonomy2002", "table5")["numbers"]
    return {
        label: {**row, **(change or {}).get(numbers[label], {})} for label, row in published.items()
    }, numbers


def orders(lowest):
    """Graph cuts in three orders around each printed number, of which one column's lowest is given."""
    published = published_table("taxonomy2002", "table5")
    row = published.rows[METHODS["gc"]]
    return published, {c: [p - 0.1, p + 0.1, p] for c, p in row.items()} | {
        "venus_nonocc": [lowest, 2.0, 1.9]
    }


def table6(**changed):
    """Fixed parameters leave 1 %, the best of the first two methods .49 on map, of the others what is given."""
    share = {"SSD": 0.49, "DP": 0.8, "SO": 0.8, "GC": 0.49, "Bay": 0.49} | changed
    return {
        m: {"map_fixed": 1.0, "map_best": v, "venus_fixed": 1.0, "venus_best": 0.9}
        for m, v in share.items()
    }


PLAIN, SHIFTED, GLOBAL = curves(), shifted(), curves(methods=("dp", "so", "gc"), costs=(AD,))
GLOBAL_MIXED = curves(
    at(0.8, scene="venus", method="gc", birchfield_tomasi=True, truncation=50),
    methods=("dp", "so", "gc"),
    costs=(AD,),
)
SHARES = {"box": 20.0, "shiftable": 10.0}
HEIGHTS = {
    name: {
        "whole pixels, fitted": 0.1,
        "whole pixels, fitted, blurred": 0.09,
        "half pixels, fitted": 0.04,
    }
    for name in ("plane", "crop")
}
CHANGES = {scene: {"ssd": 5.0, "dp": 30.0, "so": 20.0, "gc": 10.0} for scene in SCENES}


def _global(change):
    return curves(change, methods=("dp", "so", "gc"), costs=(AD,))


def _weight_of(scene, weight):
    """One method is best at this weight on a scene."""
    return weights(at(-3, scene=scene, region="nonocc", method="so", weight=weight))


# With windows of 21 the good values of one curve are in reverse order.
_REVERSED = curves(
    lambda given: (
        {5: -5, 10: 0, 20: 4, 50: 6, None: 4, 1: -29, 2: -24}[given.truncation]
        * (given.region == "discont")
    )
)
_SHIFTED_WORSE = shifted(
    at(-8, scene="tsukuba", region="discont", cost=SD, birchfield_tomasi=True, truncation=50)
)
_BLURRED = FITTED | {"preprocessing": "binomial_blur"}

SIDES: dict[str, tuple[list[tuple], list[tuple]]] = {
    "costs_alike": ([PLAIN], [curves(at(10, scene="venus", region="textureless", cost=SD))]),
    "truncation_near_discontinuities": (
        [PLAIN],
        [curves(at(-4, scene="venus", region="discont", truncation=None))],
    ),
    "truncation_5_to_50": (
        [PLAIN],
        [
            curves(
                at(
                    -5,
                    scene="venus",
                    region="nonocc",
                    cost=SD,
                    birchfield_tomasi=False,
                    truncation=None,
                )
            ),
            curves(
                at(
                    -18,
                    scene="venus",
                    region="nonocc",
                    cost=SD,
                    birchfield_tomasi=True,
                    truncation=2,
                )
            ),
        ],
    ),
    # 20 is the best of eight curves and 10 of four; of six each it is a tie.
    "truncation_20": (
        [PLAIN],
        [
            curves(
                at(-1.5, scene="tsukuba", region="nonocc", birchfield_tomasi=False, truncation=10)
            )
        ],
    ),
    # The lowest is 8, at 1 the error is 30 and at 2 25.
    "noise": (
        [PLAIN, curves(at(-8.7, scene="venus", region="nonocc", truncation=2))],
        [
            curves(
                at(
                    -9.2,
                    scene="venus",
                    region="nonocc",
                    birchfield_tomasi=False,
                    cost=AD,
                    truncation=2,
                )
            )
        ],
    ),
    "interval_in_noise": (
        [PLAIN],
        [
            curves(
                at(
                    6,
                    scene="sawtooth",
                    region="textureless",
                    cost=SD,
                    birchfield_tomasi=True,
                    truncation=1,
                )
            )
        ],
    ),
    "interval_at_good_values": (
        [PLAIN],
        [
            curves(
                at(
                    -11,
                    scene="venus",
                    region="discont",
                    birchfield_tomasi=True,
                    truncation=(5, 10, 20, 50),
                )
            )
        ],
    ),
    "best_varies": ([PLAIN], [curves(at(2, scene="venus", region="nonocc", truncation=10))]),
    "window_21": ([(PLAIN, PLAIN), (PLAIN, SHIFTED)], [(PLAIN, _REVERSED)]),
    "untruncated_best": ([SHIFTED], [_SHIFTED_WORSE]),
    "lowest_at_discontinuities": (
        [(SHIFTED, PLAIN)],
        [
            (
                SHIFTED,
                curves(
                    at(
                        -11,
                        scene="venus",
                        region="discont",
                        cost=AD,
                        birchfield_tomasi=False,
                        truncation=5,
                    )
                ),
            )
        ],
    ),
    # The plain window's best are 8 on average and those of squares and of intervals .1 off; a tenth above is 8.8.
    "comparable": (
        [(SHIFTED, PLAIN), (shifted(at(1.75, region="nonocc", truncation=None)), PLAIN)],
        [(shifted(at(1.85, scene="sawtooth", region="nonocc", truncation=None)), PLAIN)],
    ),
    "shiftable_interval": (
        [SHIFTED],
        [
            shifted(
                at(
                    -10,
                    scene="sawtooth",
                    region="textureless",
                    birchfield_tomasi=True,
                    truncation=None,
                )
            )
        ],
    ),
    "global_truncation_helps": ([GLOBAL], [_global(at(-9, truncation=None))]),
    "global_interval_mixed": ([GLOBAL_MIXED], [GLOBAL]),
    "interval_in_scanlines": (
        [GLOBAL],
        [_global(at(-1.5, scene="venus", region="nonocc", method="gc", birchfield_tomasi=True))],
    ),
    "trade_off": (
        [supports()],
        [
            supports({("venus", "membrane", "textureless"): [30, 20, 10, 31]}),
            supports({("tsukuba", "box", "discont"): [25, 15, 10, 10]}),
        ],
    ),
    # Nine curves: four at an end are few enough, five are not.
    "intermediate_best": (
        [
            supports(
                {
                    (s, m, "nonocc"): [9, 5, 6, 4]
                    for s, m in list(itertools.product(SCENES, ("box", "membrane")))[:4]
                }
            )
        ],
        [
            supports(
                {
                    (s, m, "nonocc"): [9, 5, 6, 4]
                    for s, m in list(itertools.product(SCENES, ("box", "membrane")))[:5]
                }
            )
        ],
    ),
    "shiftable_best": (
        [supports()],
        [supports({("venus", "membrane", "nonocc"): [20, 5.9, 8, 12]})],
    ),
    "shiftable_best_at_discontinuities": (
        [supports()],
        [
            supports({("sawtooth", "box", "discont"): [20, 6.9, 15, 25]}),
            supports({("sawtooth", "box", "discont"): [20, 8.9, 15, 25]}),
        ],
    ),
    # Shiftable windows lead by two points.
    "others_alike": (
        [supports({("venus", "membrane", "nonocc"): [20, 9.9, 20, 20]})],
        [supports({("venus", "membrane", "nonocc"): [20, 12.1, 20, 20]})],
    ),
    # The best are 9 and 5 pixels; 9 and 3 are far enough apart.
    "shiftable_sizes": (
        [supports({(s, "shiftable", "discont"): [5, 7, 12, 22] for s in SCENES})],
        [supports()],
    ),
    "large_support": (
        [supports()],
        [supports({("sawtooth", "box", "textureless"): [30, 4, 10, 5]})],
    ),
    "fattening": ([SHARES], [{"box": 20.0, "shiftable": 20.0}]),
    "graph_cuts_best": (
        [weights()],
        [weights(at(-6, scene="venus", region="nonocc", method="so", weight=50))],
    ),
    "graph_cuts_best_in_regions": (
        [weights(), weights(at(-6, scene="venus", region="nonocc", method="so", weight=50))],
        [
            weights(at(-12, scene="venus", region="discont", method="so", weight=50)),
            weights(at(-3, scene="venus", region="textureless", method="so", weight=50)),
        ],
    ),
    "no_clear_ranking": (
        [weights()],
        [weights(at(2, scene="tsukuba", region="nonocc", method="dp"))],
    ),
    "weights_vary": (
        [weights()],
        [weights(at(-3, scene=("venus", "map"), region="nonocc", method="so", weight=20))],
    ),
    "weight_on_map": ([weights(), _weight_of("map", 500)], [_weight_of("map", 50)]),
    "weight_on_tsukuba": (
        [weights(), _weight_of("tsukuba", 200)],
        [_weight_of("tsukuba", 10), _weight_of("tsukuba", 500)],
    ),
    # 8 with one cost, 16 with the other is twice as much.
    "occlusion_cost": (
        [weights()],
        [
            weights(at(8, scene="tsukuba", region="nonocc", method="dp", occlusion=50)),
            weights(lambda given: -20 * (given.method == "dp" and given.weight == 200)),
        ],
    ),
    # Annealing has 6 at best, graph cuts 4; a lucky order at another weight is enough.
    "clearly_superior": (
        [
            weights(),
            weights(at(-1.9, scene="venus", region="nonocc", method="sa", weight=50, seed=0)),
        ],
        [weights(at(-3.3, scene="venus", region="nonocc", method="sa", weight=20, seed=2))],
    ),
    "lowest_energy": (
        [weights()],
        [weights(energy=at(-2, scene="venus", method="sa", weight=200, seed=1))],
    ),
    "streaks": ([CHANGES], [{**CHANGES, "venus": {"ssd": 5.0, "dp": 30.0, "so": 9.0, "gc": 10.0}}]),
    # Runs without intervals are not in the figure.
    "penalty_helps": (
        [
            cuts(),
            cuts(at(2, birchfield_tomasi=False, penalty=(2, 4))),
            cuts(at(3, birchfield_tomasi=True, penalty=4)),
        ],
        [
            cuts(at(2, scene="venus", region=region, birchfield_tomasi=True, penalty=(2, 4)))
            for region in REGIONS
        ],
    ),
    "penalty_varies": (
        [cuts(), cuts(at(2, scene="venus", region="nonocc", birchfield_tomasi=False, penalty=4))],
        [cuts(at(1, scene="venus", region="nonocc", birchfield_tomasi=True, penalty=4))],
    ),
    "interval_helps": (
        [cuts(), cuts(at(2, birchfield_tomasi=True, penalty=(2, 4)))],
        [cuts(at(0.6, scene="map", region="nonocc", birchfield_tomasi=True, penalty=1))],
    ),
    # 16 cases: nine that gain are more than half, eight are not.
    "penalty_usually_helps": (
        [
            scanlines(),
            scanlines(at(2, scene=("tsukuba", "venus", "map"), region="nonocc", penalty=4)),
        ],
        [scanlines(at(2, region="nonocc", penalty=4))],
    ),
    "penalty_helps_so": (
        [scanlines()],
        [scanlines(at(-2.1, scene="venus", region="nonocc", method="dp", penalty=(2, 4)))],
    ),
    "interval_hurts_textureless": (
        [scanlines()],
        [scanlines(at(-0.6, region="textureless", birchfield_tomasi=True))],
    ),
    "fit_drops": (
        [sub_pixel(), sub_pixel(in_one(0.3, **FITTED | {"search__step": 0.5}))],
        [sub_pixel(in_one(0.3, **FITTED))],
    ),
    "interval_at_integral": (
        [sub_pixel()],
        [sub_pixel(in_one(0.1, **FITTED | {"matching_cost__birchfield_tomasi": True}))],
    ),
    "interval_elsewhere": (
        [sub_pixel()],
        [
            sub_pixel(
                in_one(
                    -0.1,
                    **FITTED | {"matching_cost__birchfield_tomasi": True, "search__step": step},
                )
            )
            for step in (0.5, 0.25)
        ],
    ),
    "blur_staircase": (
        [HEIGHTS],
        [{**HEIGHTS, "crop": HEIGHTS["crop"] | {"whole pixels, fitted, blurred": 0.1}}],
    ),
    "blur_degrades": ([sub_pixel()], [sub_pixel(in_one(-0.2, **_BLURRED))]),
    "fit_always_helps": (
        [sub_pixel()],
        [
            sub_pixel(
                in_one(
                    0.3,
                    **_BLURRED | {"search__step": 0.25, "matching_cost__birchfield_tomasi": True},
                )
            )
        ],
    ),
    # 2 falls to 1.91, by 4.5 %, and to 1.89, by 5.5 %.
    "fit_predicts_alike": (
        [sub_pixel()],
        [
            sub_pixel(in_one(-0.02, "predict_err_match", refinement="parabola")),
            sub_pixel(in_one(0.2, "predict_err_match", refinement="parabola")),
        ],
    ),
    # To exactly half.
    "staircase": (
        [HEIGHTS],
        [{**HEIGHTS, "crop": HEIGHTS["crop"] | {"half pixels, fitted": 0.05}}],
    ),
    "printed_parameters": ([[]], [["GC opt_smoothness: printed 20, ours 50"]]),
    "listed_by_performance": (
        [table()],
        [
            table(
                {
                    METHODS["dp"]: {
                        f"{s}_{r}": 0.0
                        for s in ("tsukuba", "sawtooth", "venus")
                        for r in ("nonocc", "discont")
                    }
                }
            )
        ],
    ),
    "two_dimensions_best": (
        [table()[1:]],
        [
            table(
                {
                    METHODS["ssd"]: {
                        f"{s}_discont": 0.0 for s in ("tsukuba", "sawtooth", "venus", "map")
                    }
                }
            )[1:],
            table(
                {
                    METHODS["bayesian"]: {
                        f"{s}_textureless": 0.0 for s in ("tsukuba", "sawtooth", "venus")
                    }
                }
            )[1:],
        ],
    ),
    # The worst of the six is 2.39, the best of the three .20.
    "map_outperforms": (
        [rows(), rows({n: {"map_nonocc": 2.38} for n in (5, 9, 15)})],
        [rows({n: {"map_nonocc": 2.4} for n in (5, 9, 15)})],
    ),
    "local_perform_less": (
        [rows()],
        [
            rows({n: dict.fromkeys(rows()[0]["Layered"], 0.0) for n in (1, 12)}),
            rows({n: dict.fromkeys(rows()[0]["Layered"], 0.0) for n in (2, 3)}),
        ],
    ),
    "printed_ranks": (
        [{"GC": {"a": (5.0, 5.0), "b": (5.0, 5.0)}}],
        [{"GC": {"a": (5.0, 5.0), "b": (5.0, 6.0)}}, {"GC": {"a": (5.0, 4.0)}}],
    ),
    # 1.79 is printed.
    "between_the_orders": ([orders(1.794)], [orders(1.796)]),
    "gains_with_parameters": ([table6(Bay=0.9, SSD=0.49)], [table6(Bay=0.9, SSD=0.51)]),
    "map_is_solved": ([table6()], [table6(GC=0.5), table6(Bay=0.5), table6(SSD=0.5)]),
}
