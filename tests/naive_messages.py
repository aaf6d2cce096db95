"""Slow, obvious twin of belief propagation: messages in a dictionary, one edge after the other."""

import numpy as np


def neighbours(rows, columns, pixel):
    y, x = pixel
    return [
        (y + j, x + i)
        for j, i in ((0, 1), (0, -1), (1, 0), (-1, 0))
        if 0 <= y + j < rows and 0 <= x + i < columns
    ]


def edge_weight(smoothness, one, other):
    return float((smoothness.right if one[0] == other[0] else smoothness.down)[min(one, other)])


def new_message(costs, smoothness, messages, sender, receiver, damping):
    """What each of the receiver's levels costs the sender and all that it heard of from its other neighbours; at least 0."""
    rows, columns, levels = costs.shape
    others = [other for other in neighbours(rows, columns, sender) if other != receiver]
    bears = [
        float(costs[sender][j]) + sum(messages[other, sender][j] for other in others)
        for j in range(levels)
    ]
    weight = edge_weight(smoothness, sender, receiver)
    message = np.array(
        [
            min(bears[j] + weight * float(smoothness.rho[abs(j - k)]) for j in range(levels))
            for k in range(levels)
        ]
    )
    return (1 - damping) * (message - message.min()) + damping * messages[sender, receiver]


def propagate(costs, smoothness, schedule, iterations, damping):
    """Beliefs after the last iteration and labels after each."""
    rows, columns, levels = costs.shape
    pixels = list(np.ndindex(rows, columns))
    edges = [(p, q) for p in pixels for q in neighbours(rows, columns, p)]
    messages = {edge: np.zeros(levels) for edge in edges}
    labels = []
    for _ in range(iterations):
        if schedule == "synchronous":
            messages = {
                edge: new_message(costs, smoothness, messages, *edge, damping) for edge in edges
            }
        elif schedule == "sequential":
            # To those that come later, then back to those that come before.
            for p, q in [(p, q) for p, q in edges if p < q] + [
                (p, q) for p, q in edges[::-1] if p > q
            ]:
                messages[p, q] = new_message(costs, smoothness, messages, p, q, damping)
        else:
            for step in ((0, 1), (0, -1), (1, 0), (-1, 0)):
                for p in pixels if sum(step) > 0 else reversed(pixels):
                    q = p[0] + step[0], p[1] + step[1]
                    if (p, q) in messages:
                        messages[p, q] = new_message(costs, smoothness, messages, p, q, damping)
        beliefs = np.array(costs, float)
        for (_, q), message in messages.items():
            beliefs[q] += message
        labels.append(beliefs.argmin(axis=2))
    return beliefs, labels
