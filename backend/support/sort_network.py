"""Sorting networks on vectors, as LLVM IR, for a few vectors of numbers without NaN.

First each lane is sorted across the vectors. Then square parts of the matrix are transposed, and sorted sequences are
merged as in Batcher's bitonic sort ("Sorting networks and their applications", AFIPS 1968). Exchanges within vectors
are done for two vectors at a time, by moving partners to the same lane of two other vectors. More than eight vectors
are sorted in halves and merged; up to 32 vectors, as many as there are registers, which is faster than fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from adc.ir.lazy_dataclass import dataclass

VECTORS = 32

# Networks for the lanes; the one for eight has 19 exchanges, which is optimal.
_COLUMNS: dict[int, Sequence[tuple[int, int]]] = {
    1: (),
    2: ((0, 1),),
    4: ((0, 1), (2, 3), (0, 2), (1, 3), (1, 2)),
    8: (
        *((0, 2), (1, 3), (4, 6), (5, 7), (0, 4), (1, 5), (2, 6), (3, 7), (0, 1), (2, 3), (4, 5), (6, 7)),
        *((2, 4), (3, 5), (1, 4), (3, 6), (1, 2), (3, 4), (5, 6)),
    ),
}


@dataclass
class Network:
    """Writes the code of a network. ``least`` and ``most`` are intrinsics for integers; if they are empty, numbers are
    compared and selected."""

    name: str
    scalar: str
    lanes: int
    least: str = ""
    most: str = ""
    lines: list[str] = field(default_factory=list)
    _count: int = 0

    def sort(self, vectors: list[str]) -> list[str]:
        """The names of the vectors in order."""
        count, lanes = len(vectors), self.lanes
        if count > max(_COLUMNS):
            half = count // 2
            return self._merge([*self.sort(vectors[:half]), *self.sort(vectors[half:])], count)
        vectors = list(vectors)
        for i, j in _COLUMNS[count]:
            vectors[i], vectors[j] = self._exchange(vectors[i], vectors[j])
        step = 1
        while step < count:  # transpose: swap lanes of vectors whose numbers differ in a bit
            for i in range(count):
                if not i & step:
                    a, b = vectors[i], vectors[i | step]
                    vectors[i] = self._shuffle(a, b, [k ^ step | lanes if k & step else k for k in range(lanes)])
                    vectors[i | step] = self._shuffle(a, b, [k | lanes if k & step else k ^ step for k in range(lanes)])
            step *= 2
        length = count
        while length < lanes:
            length *= 2
            vectors = self._within(vectors, [length - 1, *_halves(length // 4)], [False] * count)
        while length < lanes * count:
            length *= 2
            vectors = self._merge(vectors, length // lanes)
        return vectors

    def _merge(self, vectors: list[str], group: int) -> list[str]:
        """Merge the two sorted halves of each group of ``group`` vectors."""
        out = list(vectors)
        turned = [False] * len(vectors)
        for start in range(0, len(vectors), group):
            for i in range(group // 2):
                low, high = start + i, start + group - 1 - i
                back = self._shuffle(out[high], out[high], [self.lanes - 1 - k for k in range(self.lanes)])
                out[low], out[high] = self._exchange(out[low], back)
                turned[high] = True
        for distance in _halves(group // 4):
            for i in range(len(vectors)):
                if not i & distance:
                    out[i], out[i | distance] = self._exchange(out[i], out[i | distance])
        return self._within(out, _halves(self.lanes // 2), turned)

    def _within(self, vectors: list[str], stages: list[int], turned: list[bool]) -> list[str]:
        """Exchange lanes of each vector with those whose numbers differ in the bits of a stage. In vectors that are
        ``turned`` the lanes are in reverse order."""
        out = list(vectors)
        if len(vectors) == 1:
            (v,) = vectors
            for bits in stages:
                top = 1 << bits.bit_length() - 1
                other = self._shuffle(v, v, [k ^ bits for k in range(self.lanes)])
                low, high = self._exchange(v, other)
                v = self._shuffle(low, high, [k | self.lanes if k & top else k for k in range(self.lanes)])
            return [v]
        for i in range(0, len(vectors), 2):
            pair = vectors[i], vectors[i + 1]
            at = [(v, self.lanes - 1 - k if turned[i + v] else k) for v in (0, 1) for k in range(self.lanes)]
            for bits in stages:
                top = 1 << bits.bit_length() - 1
                wanted = [(v, k) for v in (0, 1) for k in range(self.lanes) if not k & top]
                partners = [(v, k ^ bits) for v, k in wanted]
                gathered = [self._shuffle(*pair, [at.index(w) for w in half]) for half in (wanted, partners)]
                pair = self._exchange(*gathered)
                at = [*wanted, *partners]
            for vector in (0, 1):
                out[i + vector] = self._shuffle(*pair, [at.index((vector, k)) for k in range(self.lanes)])
        return out

    def _exchange(self, a: str, b: str) -> tuple[str, str]:
        kind = f"<{self.lanes} x {self.scalar}>"
        if self.least:
            return (
                self._let(f"call {kind} {self.least}({kind} {a}, {kind} {b})"),
                self._let(f"call {kind} {self.most}({kind} {a}, {kind} {b})"),
            )
        results = []
        for relation in ("olt", "ogt"):
            chosen = self._let(f"fcmp {relation} {kind} {a}, {b}")
            results.append(self._let(f"select <{self.lanes} x i1> {chosen}, {kind} {a}, {kind} {b}"))
        return results[0], results[1]

    def _shuffle(self, a: str, b: str, places: Sequence[int]) -> str:
        if list(places) == list(range(self.lanes)):
            return a
        if list(places) == list(range(self.lanes, 2 * self.lanes)):
            return b
        kind = f"<{self.lanes} x {self.scalar}>"
        mask = ", ".join(f"i32 {k}" for k in places)
        return self._let(f"shufflevector {kind} {a}, {kind} {b}, <{self.lanes} x i32> <{mask}>")

    def _let(self, text: str) -> str:
        self._count += 1
        name = f"%{self.name}.{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name


def _halves(first: int) -> list[int]:
    """``first`` and its halves, down to 1."""
    return [first >> k for k in range(first.bit_length())]
