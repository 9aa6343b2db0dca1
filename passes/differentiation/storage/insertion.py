"""Collecting insertions into a function and applying them at once, so that editing stays linear in its size."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from adc.ir.builder import insert_at
from adc.ir.core import Block, Func, Loc, Op


class Insertions:
    """Operations to be placed before or after others, or at the start of blocks."""

    def __init__(self) -> None:
        self._before: dict[Op, Block] = {}
        self._after: dict[Op, Block] = {}
        self._start: dict[Block, Block] = {}

    @contextlib.contextmanager
    def before(self, op: Op) -> Iterator[None]:
        """What is built inside goes right before ``op``, after what was put there earlier."""
        with insert_at(self._before.setdefault(op, Block()), op.loc):
            yield

    @contextlib.contextmanager
    def after(self, op: Op) -> Iterator[None]:
        """What is built inside goes after ``op`` and after what was put there earlier."""
        with insert_at(self._after.setdefault(op, Block()), op.loc):
            yield

    @contextlib.contextmanager
    def at_start(self, block: Block, loc: Loc) -> Iterator[None]:
        with insert_at(self._start.setdefault(block, Block()), loc):
            yield

    def apply(self, func: Func) -> None:
        """Put everything in its place; the object is empty afterwards."""
        self._apply_block(func.body)
        self._before.clear()
        self._after.clear()
        self._start.clear()

    def _apply_block(self, block: Block) -> None:
        ops: list[Op] = []
        if block in self._start:
            ops += self._start[block].ops
        for op in block.ops:
            if op in self._before:
                ops += self._before[op].ops
            ops.append(op)
            if op in self._after:
                ops += self._after[op].ops
        if len(ops) != len(block.ops):
            block.set_ops(ops)
        for op in block.ops:
            for region in op.regions:
                self._apply_block(region)
