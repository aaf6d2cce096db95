"""Slow, obvious twins of tree-reweighted message passing and iterated conditional modes: plain loops in float64, and chains solved exactly."""

import numpy as np
from naive_messages import edge_weight, neighbours


def trw_s(costs, smoothness, iterations):
    """Levels and bound after each iteration of Kolmogorov 2006, Figure 3: the first pixel comes first, then the last.

    Messages in both directions are kept. Each pixel shares out its costs, less their minimum, among the edges to those that come after it.
    """
    rows, columns, levels = costs.shape
    pixels = list(np.ndindex(rows, columns))
    near = {
        p: [q for q in neighbours(rows, columns, p) if edge_weight(smoothness, p, q) > 0]
        for p in pixels
    }
    messages = {(p, q): np.zeros(levels) for p in pixels for q in near[p]}
    changes = np.array(
        [[float(smoothness.rho[abs(j - k)]) for k in range(levels)] for j in range(levels)]
    )
    found = []
    for _ in range(iterations):
        for order in (pixels, pixels[::-1]):
            bound, place = 0.0, {p: n for n, p in enumerate(order)}
            for p in order:
                bears = costs[p] + sum(messages[q, p] for q in near[p])
                bound += bears.min()
                bears = bears - bears.min()
                after = [q for q in near[p] if place[q] > place[p]]
                for q in after:
                    share = bears / max(len(after), len(near[p]) - len(after))
                    new = (
                        (share - messages[q, p])[:, None] + edge_weight(smoothness, p, q) * changes
                    ).min(axis=0)
                    bound += new.min()
                    messages[p, q] = new - new.min()
        found.append((_decided(costs, smoothness, near, messages, changes), bound))
    return found


def _decided(costs, smoothness, near, messages, changes):
    """The first pixel takes its level first, then each the best beside the levels before it and the messages from the others."""
    labels = np.full(costs.shape[:2], -1, np.int16)
    for p in np.ndindex(*labels.shape):
        value = costs[p].astype(float)
        for q in near[p]:
            value += (
                messages[q, p]
                if labels[q] < 0
                else edge_weight(smoothness, p, q) * changes[labels[q]]
            )
        labels[p] = value.argmin()
    return labels


def icm(costs, smoothness, sweeps):
    """Levels after each sweep, from the winners on."""
    rows, columns, _ = costs.shape
    labels = costs.argmin(axis=2).astype(np.int16)
    found = []
    for _ in range(sweeps):
        for p in np.ndindex(rows, columns):
            value = costs[p].astype(float)
            for q in neighbours(rows, columns, p):
                value = (
                    value
                    + edge_weight(smoothness, p, q)
                    * smoothness.rho[abs(np.arange(len(value)) - labels[q])]
                )
            if value.min() < value[labels[p]]:
                labels[p] = value.argmin()
        found.append(labels.copy())
    return found
