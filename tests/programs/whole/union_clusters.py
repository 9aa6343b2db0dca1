"""Kruskal's spanning tree with a union-find structure, and a set of roots."""

import numpy as np


class UnionFind:
    def __init__(self, n):
        self.parent = list(range(n))
        self.size = [1] * n

    def find(self, a):
        while self.parent[a] != a:
            self.parent[a] = self.parent[self.parent[a]]
            a = self.parent[a]
        return a

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return True

def f(points):
    n = len(points)
    edges = []
    for i in range(n):
        for j in range(i + 1, n):
            edges.append((np.sqrt(np.sum((points[i] - points[j]) ** 2)), i, j))
    edges.sort()
    uf = UnionFind(8)
    total, longest = 0.0, 0.0
    for d, i, j in edges:
        if uf.union(i, j):
            total += d
            longest = max(longest, d)
    roots = {uf.find(i) for i in range(8)}
    return total + longest / len(roots)

ARGNUMS = (0,)

def args():
    return (np.random.default_rng(11).random((8, 2)),)
