"""Lists in lists that one function makes and others change: graphs, meshes and tables that are objects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.language.as_in_python import NUMBERS, check


class Graph:
    def __init__(self, n: int) -> None:
        self.n = n
        self.near = [[] for _ in range(n)]

    def add(self, i: int, j: int) -> None:
        self.near[i].append(j)

    def energy(self, x: Any) -> Any:
        return sum(x[k] * x[j] for k in range(self.n) for j in self.near[k])


def test_neighbours_in_an_object() -> None:
    def function(x: Any) -> Any:
        graph = Graph(len(x))
        for k in range(graph.n):
            graph.add(k, (k + 1) % graph.n)
            if x[k] > 0.5:
                graph.add((k + 1) % graph.n, k)
        graph.add(0, 3)
        return graph.energy(x)

    check(function)


def test_a_known_number_of_neighbours() -> None:
    def function(x: Any) -> Any:
        graph = Graph(4)
        graph.add(0, 1)
        graph.add(1, 2)
        graph.add(1, 3)
        return graph.energy(x)

    check(function)


def test_two_objects_of_a_class() -> None:
    def function(x: Any) -> Any:
        graphs = [Graph(3), Graph(4)]
        graphs[0].add(0, 1)
        graphs[1].add(3, 2)
        for graph in graphs:
            graph.add(1, 2)
        return graphs[0].energy(x) * graphs[1].energy(x)

    check(function)


class Mesh:
    def __init__(self, n: int) -> None:
        self.points = []
        self.faces = []
        self.around = [[] for _ in range(n)]
        self.weights = [[] for _ in range(n)]

    def point(self, v: Any) -> int:
        self.points.append(v)
        return len(self.points) - 1

    def face(self, a: int, b: int, w: Any) -> None:
        self.faces.append((a, b))
        for k in (a, b):
            self.around[k].append(len(self.faces) - 1)
            self.weights[k].append(w)

    def smooth(self) -> None:
        new = []
        for k in range(len(self.points)):
            s = self.points[k]
            for f, w in zip(self.around[k], self.weights[k]):
                a, b = self.faces[f]
                s += w * (self.points[a] + self.points[b])
            new.append(s / (1 + len(self.around[k])))
        self.points = new


def smoothed(x: Any) -> Any:
    mesh = Mesh(len(x))
    for v in x:
        mesh.point(v)
    for k in range(len(x) - 1):
        mesh.face(k, k + 1, x[k] ** 2)
    mesh.face(0, 3, x[2])
    mesh.smooth()
    mesh.smooth()
    return sum(mesh.points) + sum(len(a) for a in mesh.around)


def test_a_mesh() -> None:
    compiled = check(smoothed)
    along, step = np.arange(6.0), 1e-6
    gradient = adc.grad(smoothed)
    change = (gradient(NUMBERS + step * along) - gradient(NUMBERS - step * along)) / (2 * step)
    assert adc.hvp(smoothed, (NUMBERS,), (along,)) == pytest.approx(change, rel=1e-5, abs=1e-6)
    assert compiled.jvp((NUMBERS,), (along,))[1] == pytest.approx(gradient(NUMBERS) @ along, rel=1e-12)
    rows = np.stack([NUMBERS, NUMBERS[::-1]])
    assert adc.vmap(smoothed)(rows) == pytest.approx([smoothed(row) for row in rows], rel=1e-14)
    for n in (5, 9):
        x = np.linspace(0.1, 0.9, n)
        assert compiled(x) == smoothed(x)


def table(n: int, m: int) -> Any:
    return [[0.0] * m for _ in range(n)]


def fill(t: Any, x: Any) -> None:
    for i in range(len(t)):
        for j in range(len(t[i])):
            t[i][j] += x[i] * x[j]


def test_a_table_that_a_function_makes_and_another_fills() -> None:
    def function(x: Any) -> Any:
        t = table(len(x), 3)
        fill(t, x)
        t[0][1] = 5.0 * x[3]
        return sum(sum(row) for row in t)

    check(function)


class Grid:
    def __init__(self, n: int, m: int) -> None:
        self.cells = [[0.0 for _ in range(m)] for _ in range(n)]

    def __setitem__(self, k: Any, v: Any) -> None:
        i, j = k
        self.cells[i][j] = v

    def __getitem__(self, k: Any) -> Any:
        return self.cells[k[0]][k[1]]


def test_items_by_special_methods() -> None:
    def function(x: Any) -> Any:
        grid = Grid(len(x), 4)
        for i in range(len(x)):
            for j in range(4):
                grid[i, j] = x[i] * j
        grid[1, 1] = grid[2, 2] * grid[1, 3]
        return sum(sum(row) for row in grid.cells)

    check(function)


class Groups:
    """Union by size, with the members of each group."""

    def __init__(self, n: int) -> None:
        self.parent = list(range(n))
        self.members = [[i] for i in range(n)]

    def find(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def join(self, a: int, b: int) -> bool:
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if len(self.members[a]) < len(self.members[b]):
            a, b = b, a
        self.parent[b] = a
        self.members[a].extend(self.members[b])
        self.members[b] = []
        return True


def test_a_spanning_tree() -> None:
    def function(x: Any) -> Any:
        n = len(x)
        groups = Groups(n)
        total = 0.0
        edges = sorted((abs(x[i] - x[j]), i, j) for i in range(n) for j in range(i))
        for w, i, j in edges:
            if groups.join(i, j):
                total += w * len(groups.members[groups.find(i)])
        return total

    check(function)
