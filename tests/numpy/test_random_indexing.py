"""Random mixed subscripts of all kinds, read and stored, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.numpy.checking import check


class Maker:
    """Random subscripts for an array of a shape; what they use is in ``inputs``."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        rank = int(self.rng.integers(1, 4))
        self.shape = tuple(int(n) for n in self.rng.integers(1, 5, rank))
        self.array = self.rng.normal(size=self.shape)
        if self.rng.random() < 0.3:
            self.array = np.asfortranarray(self.array)
        self.inputs: dict[str, Any] = {"a": self.array}

    def named(self, value: Any) -> str:
        name = f"x{len(self.inputs)}"
        self.inputs[name] = value
        return name

    def indices(self, n: int, together: tuple[int, ...]) -> str:
        shape = tuple(1 if self.rng.random() < 0.2 else d for d in together)[int(self.rng.random() < 0.2) :]
        value = self.rng.integers(-n, n, shape or together)
        return self.named(value.astype(np.int32) if self.rng.random() < 0.3 else value)

    def item(self, n: int, together: tuple[int, ...]) -> str:
        kind = self.rng.random()
        if kind < 0.35:
            return self.indices(n, together)
        if kind < 0.5:
            return str(int(self.rng.integers(-n, n)))
        if kind < 0.6 and len(together) == 1:
            mask = np.zeros(n, bool)  # of as many as the other index arrays have elements, or one
            mask[self.rng.choice(n, min(n, together[0] if self.rng.random() < 0.7 else 1), replace=False)] = True
            if mask.sum() in (1, together[0]):
                return self.named(mask)
        return str(self.rng.choice([":", "::2", "1:", "::-1", ":-1", "::-2"]))

    def subscripts(self) -> str:
        together = (int(self.rng.integers(1, 4)),) if self.rng.random() < 0.7 else (2, int(self.rng.integers(1, 3)))
        if self.rng.random() < 0.15:
            return self.named(self.rng.random(self.shape[: int(self.rng.integers(1, len(self.shape) + 1))]) < 0.5)
        items = [self.item(n, together) for n in self.shape]
        if len(items) > 1 and self.rng.random() < 0.3:
            k = int(self.rng.integers(len(items)))
            items[k:] = ["..."] if self.rng.random() < 0.5 else []
            items = items or ["..."]
        for _ in range(int(self.rng.random() < 0.3)):
            items.insert(int(self.rng.integers(len(items) + 1)), "None")
        return ", ".join(items)

    def statement(self) -> str:
        """One that NumPy accepts."""
        at = self.subscripts()
        place = eval(f"a[{at}]", {"a": self.array}, self.inputs)
        shape = np.shape(place)
        keep = int(self.rng.integers(0, len(shape) + 1))
        value = self.named(self.rng.normal(size=tuple(1 if self.rng.random() < 0.2 else d for d in shape[keep:])))
        kind = int(self.rng.integers(5))
        right = [value, f"b[{at}] * 2", f"a[{at}] + {value}", "0.5", f"a[::-1][{at}]"][int(self.rng.integers(5))]
        if kind == 0 and np.ndim(place) and ":" not in at:
            return f"np.add.at(a, ({at},), {value})"
        return f"a[{at}] {['=', '+=', '*=', '=', '-='][kind]} {right}"


@pytest.mark.parametrize("seed", range(8))
def test_random_subscripts(seed: int) -> None:
    maker = Maker(seed)
    reads = [f"a[{maker.subscripts()}]" for _ in range(4)]
    check(f"return {', '.join(reads)}, {reads[0]} * 2 + {reads[0]}", **maker.inputs)


@pytest.mark.parametrize("seed", range(8))
def test_random_stores(seed: int) -> None:
    maker = Maker(1000 + seed)
    maker.inputs["b"] = maker.array * 3 + 1
    lines = [maker.statement() for _ in range(3)]
    check("\n".join([*lines, "return a * a"]), **maker.inputs)
