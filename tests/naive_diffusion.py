"""Slow, obvious versions of the iterative aggregations and of the blur."""

import math

import numpy as np


def _at(costs, y, x):
    """A cell with the image's border replicated."""
    return costs[min(max(y, 0), costs.shape[0] - 1), min(max(x, 0), costs.shape[1] - 1)]


def _each_pixel(costs, rule):
    result = np.empty_like(costs)
    for y in range(costs.shape[0]):
        for x in range(costs.shape[1]):
            result[y, x] = rule(y, x)
    return result


def _filter(costs, taps, along_rows):
    reach = len(taps) // 2

    def rule(y, x):
        shifts = range(-reach, reach + 1)
        return sum(
            t * (_at(costs, y, x + s) if along_rows else _at(costs, y + s, x))
            for t, s in zip(taps, shifts, strict=True)
        )

    return _each_pixel(costs, rule)


def filtered(costs, taps, iterations):
    """A separable filter, in float64."""
    costs = costs.astype(np.float64)
    for _ in range(iterations):
        costs = _filter(_filter(costs, taps, True), taps, False)
    return costs


def membrane(costs, iterations, rate, beta):
    """Steps of membrane diffusion, in float64."""
    original = costs = costs.astype(np.float64)
    for _ in range(iterations):

        def rule(y, x, c=costs):
            neighbours = _at(c, y - 1, x) + _at(c, y + 1, x) + _at(c, y, x - 1) + _at(c, y, x + 1)
            return (
                (1 - rate * (beta + 4)) * c[y, x] + rate * neighbours + rate * beta * original[y, x]
            )

        costs = _each_pixel(costs, rule)
    return costs


def bayesian(costs, iterations, factor, mu, sigma, epsilon):
    """Steps of Bayesian diffusion, in float64, with the whole table of the prior."""
    data = factor * costs.astype(np.float64)
    levels = costs.shape[2]
    prior = np.array(
        [
            [
                (1 - epsilon) * math.exp(-((a - b) ** 2) / (2 * sigma**2)) + epsilon
                for b in range(levels)
            ]
            for a in range(levels)
        ]
    )
    prior /= prior.sum(axis=1, keepdims=True)
    energy = data
    for _ in range(iterations):
        likelihood = np.exp(energy.min(axis=2, keepdims=True) - energy)
        likelihood /= likelihood.sum(axis=2, keepdims=True)
        support = -np.log(np.maximum(likelihood @ prior.T, 1e-16))

        def rule(y, x, s=support):
            return data[y, x] + mu * (
                s[y, x] + _at(s, y - 1, x) + _at(s, y + 1, x) + _at(s, y, x - 1) + _at(s, y, x + 1)
            )

        energy = _each_pixel(data, rule)
    return energy
