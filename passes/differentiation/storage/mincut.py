"""Minimum s-t cut by Dinic's algorithm, on graphs of a few thousand nodes with real capacities.

Reference: E. A. Dinic, Algorithm for solution of a problem of maximum flow in networks with power estimation, Soviet
Math. Dokl. 11 (1970).
"""

from __future__ import annotations

from collections import deque

INFINITE = 1e30
_EPSILON = 1e-9


class FlowNetwork:
    """A directed network; nodes are consecutive integers made by ``node()``."""

    def __init__(self) -> None:
        self._edges: list[list[int]] = []  # node -> positions in the arrays below
        self._head: list[int] = []
        self._capacity: list[float] = []

    def node(self) -> int:
        self._edges.append([])
        return len(self._edges) - 1

    def edge(self, tail: int, head: int, capacity: float) -> None:
        for node, other, room in ((tail, head, capacity), (head, tail, 0.0)):
            self._edges[node].append(len(self._head))
            self._head.append(other)
            self._capacity.append(room)

    def source_side(self, source: int, sink: int) -> set[int]:
        """The nodes on the source's side of a minimum cut: the smallest such set."""
        while True:
            level = self._levels(source)
            if level[sink] < 0:
                return {node for node, depth in enumerate(level) if depth >= 0}
            cursor = [0] * len(self._edges)
            while self._augment(source, sink, level, cursor):
                pass

    def _levels(self, source: int) -> list[int]:
        """Breadth-first distance from the source over edges with residual capacity; -1 where there is no path."""
        level = [-1] * len(self._edges)
        level[source] = 0
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for e in self._edges[node]:
                head = self._head[e]
                if self._capacity[e] > _EPSILON and level[head] < 0:
                    level[head] = level[node] + 1
                    queue.append(head)
        return level

    def _augment(self, source: int, sink: int, level: list[int], cursor: list[int]) -> bool:
        """Push flow along one shortest path with residual capacity, without recursion, since paths may be long."""
        path: list[int] = []
        node = source
        while node != sink:
            edges = self._edges[node]
            while cursor[node] < len(edges):
                e = edges[cursor[node]]
                if self._capacity[e] > _EPSILON and level[self._head[e]] == level[node] + 1:
                    break
                cursor[node] += 1
            else:
                if not path:
                    return False
                e = path.pop()
                node = self._head[e ^ 1]
                cursor[node] += 1
                continue
            path.append(e)
            node = self._head[e]
        amount = min(self._capacity[e] for e in path)
        for e in path:
            self._capacity[e] -= amount
            self._capacity[e ^ 1] += amount
        return True
