"""The log-likelihood of a mixture of Gaussians with triangular factors of their inverse covariances."""

from __future__ import annotations

import math

import numpy as np

from adc import prange

ACTIVE = 1, 2, 3


def arguments():
    rng = np.random.default_rng(5)
    k, d = 8, 6
    factors = np.tril(rng.standard_normal((k, d, d)) / 2) + np.eye(d)
    return rng.standard_normal((1500, d)), rng.standard_normal((k, d)), factors, rng.standard_normal(k)


def loops(points, centres, factors, weights):
    n, d = points.shape
    k = weights.shape[0]
    total = 0.0
    for p in prange(n):
        terms = np.empty(k)
        for c in range(k):
            s = 0.0
            for i in range(d):
                t = 0.0
                for j in range(i + 1):
                    t += factors[c, i, j] * (points[p, j] - centres[c, j])
                s += t * t
            terms[c] = weights[c] - 0.5 * s
        most = terms[0]
        for c in range(1, k):
            if terms[c] > most:
                most = terms[c]
        s = 0.0
        for c in range(k):
            s += math.exp(terms[c] - most)
        total += most + math.log(s)
    return total


def in_order(points, centres, factors, weights):
    n, d = points.shape
    k = len(weights)
    total = 0.0
    for p in range(n):
        most = -math.inf
        terms = np.zeros(k)
        for c in range(k):
            for i in range(d):
                t = 0.0
                for j in range(i + 1):
                    t += factors[c, i, j] * (points[p, j] - centres[c, j])
                terms[c] -= 0.5 * t**2
            terms[c] += weights[c]
            most = max(most, terms[c])
        total += most + math.log(sum(math.exp(t - most) for t in terms))
    return total


def running(points, centres, factors, weights):
    """The triangles are packed, and read with a running index."""
    n, d = points.shape
    k = len(weights)
    packed = np.empty((k, d * (d + 1) // 2))
    for c in range(k):
        q = 0
        for i in range(d):
            for j in range(i + 1):
                packed[c, q] = factors[c, i, j]
                q += 1
    total = 0.0
    for p in range(n):
        most = -1e300
        s = 0.0
        for c in range(k):
            q = 0
            form = 0.0
            for i in range(d):
                t = 0.0
                for j in range(i + 1):
                    t += packed[c, q] * (points[p, j] - centres[c, j])
                    q += 1
                form += t * t
            term = weights[c] - 0.5 * form
            if term > most:
                s = s * math.exp(most - term) + 1.0
                most = term
            else:
                s += math.exp(term - most)
        total += most + math.log(s)
    return total


def broadcast(points, centres, factors, weights):
    away = points[:, None, :] - centres[None, :, :]
    turned = np.einsum("cij,pcj->pci", np.tril(factors), away)
    terms = weights - 0.5 * np.sum(turned**2, axis=2)
    most = np.max(terms, axis=1)
    return np.sum(most + np.log(np.sum(np.exp(terms - most[:, None]), axis=1)))


def products(points, centres, factors, weights):
    terms = np.empty((len(points), len(weights)))
    factors = np.tril(factors)
    for c in range(len(weights)):
        turned = (points - centres[c]) @ factors[c].T
        terms[:, c] = weights[c] - 0.5 * (turned * turned).sum(axis=1)
    most = terms.max(axis=1, keepdims=True)
    return (most[:, 0] + np.log(np.exp(terms - most).sum(axis=1))).sum()


def log_sum_exp(x):
    most = np.max(x)
    return most + np.log(np.sum(np.exp(x - most)))


def points_apart(points, centres, factors, weights):
    total = 0.0
    factors = np.tril(factors)
    for point in points:
        terms = np.empty(len(weights))
        for c in range(len(weights)):
            turned = factors[c] @ (point - centres[c])
            terms[c] = weights[c] - 0.5 * np.dot(turned, turned)
        total += log_sum_exp(terms)
    return total


SPELLINGS = loops, in_order, running, broadcast, products, points_apart
