"""Sums of the cheapest paths over candidate planes: as in semi-global matching, but what neighbours pay is how far their planes part.

A plane is what disparities do around a pixel: its value there, and its change per pixel to the right and per pixel down. Candidates are float32
``(rows, columns, 3, count)``. Numba turns loops over so few numbers into scalar code, so a step of a path is generated as vectors.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stereo_framework.kernels.decorator import kernel
from stereo_framework.kernels.internals import (
    INT64,
    VectorBuilder,
    cgutils,
    choose_intrinsic,
    intrinsic,
    ir,
    types,
)
from stereo_framework.optimization._semi_global_penalties import STEPS

Values = NDArray[np.float32]
Shape = tuple[int, int, int]

LANES = 16
"""The most candidates of a pixel, which are computed at once. Arrays that a step reads have as many numbers to spare at their end."""

_DOWN, _RIGHT = (np.array(amounts) for amounts in zip(*STEPS, strict=True))


def path_sums(
    planes: Values,
    costs: Values,
    edges: NDArray[np.bool_],
    weight: float,
    at_edge: float,
    bound: float,
    sums: Values,
) -> None:
    """Write for each candidate the sum of the path costs that reach it from all sides.

    Along a path that steps from pixel q to p, plane f of p costs ``L(p, f) = costs(p, f) + min_g (L(q, g) + w min(|f(p) - g(p)| + |f(q) - g(q)|, bound)) -
    min_g L(q, g)``.

    Parameters
    ----------
    planes : ndarray, float32, (rows, columns, 3, count)
        As `spare_array` makes it, and so `costs`.
    costs : ndarray, float32, (rows, columns, count)
    edges : ndarray, bool, (2 or 4 steps, rows + 1, columns + 2)
        Where the image has edges, as `image_edges` tells. Each step is walked in both directions.
    weight, at_edge : float
        w, and w across an edge.
    bound : float
        In pixels.
    sums : ndarray, float32, (rows, columns, count)
        Written; as `spare_array` makes it.
    """
    rows, columns, count = costs.shape
    sums[:] = 0
    weights = np.array([weight, at_edge, 0], np.float32)
    arrays = planes.base, costs.base, sums.base
    for upwards in (False, True):
        # A path keeps its place in the line from row to row, so that a step overwrites what it starts from.
        paths = np.zeros(len(edges) * columns * LANES, np.float32)
        _pass(arrays, edges, weights, np.float32(bound), upwards, (rows, columns, count), paths)


def spare_array(shape: tuple[int, ...]) -> Values:
    """An array of zeros of this shape, whose base is flat and longer than it by `LANES`."""
    size = int(np.prod(shape))
    return np.zeros(size + LANES, np.float32)[:size].reshape(shape)


@kernel
def step_in_a_loop(  # type: ignore[no-untyped-def]
    planes, source, target, paths, at, costs, sums, cell, count, weight, bound, right, down
):
    """Go on with a path from one pixel to the next; nothing checks the bounds.

    The planes of both pixels stand from `source` and `target` on, the costs and sums of the second one from `cell` on. Its path costs replace those
    from `at` on, and are added to the sums.
    """
    before, own = (
        paths[at : at + count].copy(),
        planes[source : source + 3 * count].reshape(3, count),
    )
    least, other = before.min(), planes[target : target + 3 * count].reshape(3, count)
    for f in range(count):
        value = other[0, f]
        back, best = value - (other[1, f] * right + other[2, f] * down), least + weight * bound
        for g in range(count):
            on = own[0, g] + (own[1, g] * right + own[2, g] * down)
            best = min(best, before[g] + weight * (abs(value - on) + abs(back - own[0, g])))
        new = costs[cell + f] + (best - least)
        paths[at + f] = new
        sums[cell + f] += new


@intrinsic
def _step(  # type: ignore[no-untyped-def]
    context, planes, source, target, paths, at, costs, sums, cell, count, weight, bound, right, down
):
    number, real = types.int64, types.float32
    taken = (planes, number, number, paths, number, costs, sums, number, number, *[real] * 4)
    return types.void(*taken), _generate


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    v = VectorBuilder(context, builder, signature, arguments, ir.FloatType(), LANES, alignment=4)

    def add(a: Any, b: Any) -> Any:
        return builder.fadd(a, b, flags=("contract",))

    def times(a: Any, b: Any) -> Any:
        return builder.fmul(a, b, flags=("contract",))

    def apart(a: Any, b: Any) -> Any:
        return v.call_intrinsic(f"llvm.fabs.v{LANES}f32", builder.fsub(a, b))

    source, target, at, cell, count = (arguments[i] for i in (1, 2, 4, 7, 8))
    twice = builder.mul(count, INT64(2))
    weight, bound, right, down = (v.broadcast(argument) for argument in arguments[9:])
    value, across, along = (
        v.load(v.address(0, target, *offset)) for offset in ((), (count,), (twice,))
    )
    own, own_across, own_along = (
        v.load(v.address(0, source, *offset)) for offset in ((), (count,), (twice,))
    )
    back = builder.fsub(value, add(times(across, right), times(along, down)))
    on = cgutils.alloca_once(builder, v.vector_type)
    builder.store(add(own, add(times(own_across, right), times(own_along, down))), on)
    ons = builder.bitcast(on, ir.FloatType().as_pointer())
    before, sum_ = v.load(v.address(3, at)), v.load(v.address(6, cell))
    # Lanes without a candidate hold infinity.
    least = v.broadcast(v.lane_minimum(before))
    best = cgutils.alloca_once_value(builder, add(least, times(weight, bound)))
    with cgutils.for_range(builder, count) as loop:
        own_address = v.address(0, source)
        cost_address = v.address(3, at)
        own_one, on_one, cost = (
            v.broadcast(builder.load(builder.gep(start, [loop.index])))
            for start in (own_address, ons, cost_address)
        )
        change = add(apart(value, on_one), apart(back, own_one))
        builder.store(v.minimum(builder.load(best), add(cost, times(weight, change))), best)
    new = add(v.load(v.address(5, cell)), builder.fsub(builder.load(best), least))
    lanes = ir.Constant(ir.VectorType(INT64, LANES), list(range(LANES)))
    real = builder.icmp_unsigned("<", lanes, v.broadcast(count))
    v.store(builder.select(real, new, v.constant(float("inf"))), v.address(3, at))
    v.store(add(sum_, builder.select(real, new, v.constant(0.0))), v.address(6, cell))
    return context.get_dummy_value()


step = choose_intrinsic(_step, step_in_a_loop)


@kernel
def _pass(
    arrays: tuple[Values, ...],
    edges: NDArray,
    weights: Values,
    bound: float,
    upwards: bool,
    shape: Shape,
    paths: Values,
) -> None:
    """Add the paths of all steps down the image, or of their opposites up the image, to the sums."""
    (planes, costs, sums), (rows, columns, count) = arrays, shape
    sign = -1 if upwards else 1
    first = np.zeros(edges.shape[0], np.int64)
    for i in range(rows):
        y = rows - 1 - i if upwards else i
        for s in range(1, edges.shape[0]):
            first[s] = -sign * _RIGHT[s] * i % columns
        for j in range(columns):
            x = columns - 1 - j if upwards else j
            pixel = y * columns + x
            for s in range(edges.shape[0]):
                down, right = sign * _DOWN[s], sign * _RIGHT[s]
                v, u = y - down, x - right
                if 0 <= v < rows and 0 <= u < columns:
                    edge = edges[s, v, u + 1] if upwards else edges[s, y, x + 1]
                    weight, source = weights[1] if edge else weights[0], v * columns + u
                else:
                    # The first pixel of a path. It pays nothing, wherever it seems to come from.
                    weight, source = weights[2], pixel
                place = 0 if s == 0 else first[s] + x
                place = place - columns if place >= columns else place
                at = (s * columns + place) * LANES
                begins, change = (
                    (source * count * 3, pixel * count * 3),
                    (np.float32(right), np.float32(down)),
                )
                step(
                    planes,
                    *begins,
                    paths,
                    at,
                    costs,
                    sums,
                    pixel * count,
                    count,
                    weight,
                    bound,
                    *change,
                )
