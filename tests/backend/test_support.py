"""The run-time support, called through ctypes: arena, errors, pool."""

from __future__ import annotations

import ctypes
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from adc.backend import runtime
from adc.backend.support import arena, contexts

P, I64, I32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32


def function(name: str, result: Any, *args: Any) -> Callable[..., Any]:
    return ctypes.CFUNCTYPE(result, *args)(runtime.address(name))


alloc = function("adc_alloc", P, P, I64)
free = function("adc_free", None, P, P)
grow = function("adc_grow", P, P, P, I64)
raise_ = function("adc_raise", None, P, I32, I64, I64)
threads = function("adc_threads", I32, P)
new = function("adc_context_new", P)
delete = function("adc_context_delete", None, P)
reset = function("adc_context_reset", None, P)
take = function("adc_context_take", P)
give = function("adc_context_give", None, P)


def word(context: int, offset: int) -> int:
    return I64.from_address(context + offset).value


@pytest.fixture
def context() -> Iterator[int]:
    made = new()
    yield made
    delete(made)


def test_alloc_is_aligned_and_apart(context: int) -> None:
    sizes = [0, 1, 63, 64, 65, 1000, 4096, 100_000, 5_000_000, 9_000_000]
    blocks = [(alloc(context, size), size) for size in sizes]
    for number, (address, size) in enumerate(blocks):
        assert address % 64 == 0
        ctypes.memset(address, number + 1, size)
    for number, (address, size) in enumerate(blocks):
        assert ctypes.string_at(address, size) == bytes([number + 1]) * size
    assert word(context, contexts.CONTEXT_LIVE) == len(sizes)


def test_what_was_asked_for_counts(context: int) -> None:
    """Not the class of the block, nor a larger one that was free; in whole lines."""
    sizes = [1, 64, 65, 700, 5000, 130_000, 1_050_000]
    for _ in range(3):
        blocks = [alloc(context, size) for size in sizes]
        assert word(context, contexts.CONTEXT_LIVE_BYTES) == sum(-(-size // 64) * 64 for size in sizes)
        for address in blocks:
            free(context, address)
        assert word(context, contexts.CONTEXT_LIVE_BYTES) == 0
        sizes = [size - size // 9 for size in sizes]
    block = grow(context, grow(context, None, 100), 10_000)
    assert word(context, contexts.CONTEXT_LIVE_BYTES) == 10_048
    alloc(context, 5000)
    reset(context)  # as after an error: what was live is free
    assert word(context, contexts.CONTEXT_LIVE_BYTES) == 0
    assert alloc(context, 10_000) == block and word(context, contexts.CONTEXT_LIVE_BYTES) == 10_048


def test_small_blocks_take_little_more_than_they_hold(context: int) -> None:
    """Programs may have millions of them: what a call leaves for the reverse sweep is one."""
    for size in (8, 64, 1000):
        held = word(context, contexts.CONTEXT_HELD_BYTES)
        first, *_ = [alloc(context, size) for _ in range(1000)]
        more = word(context, contexts.CONTEXT_HELD_BYTES) - held
        assert more <= 1000 * (size + 300) + arena.SLAB
        free(context, first)
        assert alloc(context, size) == first  # the last one freed


def test_a_reset_takes_small_blocks_back_whole(context: int) -> None:
    """Those that are live, too; the next run has them in the same places, side by side, and needs no more memory."""
    sizes = [8 + 37 * number % 2000 for number in range(2000)]
    places, held = [], []
    for _ in range(3):
        blocks = [alloc(context, size) for size in sizes]
        order = sorted(zip(blocks, sizes, strict=True))
        assert all(a + size <= b - 64 for (a, size), (b, _) in itertools.pairwise(order))
        for block, size in order:
            ctypes.memset(block, 255, size)
        for block in blocks[::3]:
            free(context, block)
        reset(context)
        assert word(context, contexts.CONTEXT_LIVE) == word(context, contexts.CONTEXT_LIVE_BYTES) == 0
        places.append(set(blocks))
        held.append(word(context, contexts.CONTEXT_HELD_BYTES))
    assert held[0] == held[1] == held[2] and places[1] == places[2]


def test_freed_block_is_used_again(context: int) -> None:
    first = alloc(context, 10_000)
    free(context, first)
    assert alloc(context, 9_000) == first  # of the same class, or one of the next three
    assert alloc(context, 9_000) != first
    free(context, None)


def test_a_thread_gets_the_block_it_had(context: int) -> None:
    """Whoever freed it last: nothing that one core has in its cache is to move to another."""
    mine = alloc(context, 10_000)
    theirs: list[int] = []

    def elsewhere() -> None:
        theirs.append(alloc(context, 10_000))
        second.wait()
        theirs.append(alloc(context, 10_000))
        third.set()

    second, third = threading.Event(), threading.Event()
    worker = threading.Thread(target=elsewhere)
    worker.start()
    while not theirs:
        pass
    for block in (mine, theirs[0]), (theirs[0], mine):
        for address in block:
            free(context, address)
        assert alloc(context, 10_000) == mine
        if block[0] == mine:
            assert alloc(context, 10_000) == theirs[0]  # there is no other
    second.set()
    third.wait()
    worker.join()
    assert theirs[1] == theirs[0]


def test_calls_find_their_arrays_where_they_had_them(context: int) -> None:
    """In whatever order they are freed."""
    rng = random.Random(0)
    expected = [alloc(context, 10_000) for _ in range(6)]
    for _ in range(20):
        for address in rng.sample(expected, 6):
            free(context, address)
        found = [alloc(context, 10_000) for _ in range(6)]
        assert found == sorted(expected)


def test_capacity_is_at_most_a_quarter_more(context: int) -> None:
    for size in [65, 100, 500, 777, 4097, 10_001, 123_457, 1_000_001]:
        before = word(context, contexts.CONTEXT_LIVE_BYTES)
        alloc(context, size)
        capacity = word(context, contexts.CONTEXT_LIVE_BYTES) - before
        assert size <= capacity <= 1.25 * size + 64


def test_random_blocks_never_overlap(context: int) -> None:
    rng = random.Random(1)
    live: dict[int, int] = {}
    for _ in range(3000):
        if live and rng.random() < 0.45:
            address = rng.choice(list(live))
            del live[address]
            free(context, address)
            continue
        size = int(2 ** rng.uniform(0, 18))
        address = alloc(context, size)
        for other, length in live.items():
            assert address + size <= other or other + length <= address
        live[address] = size
    assert word(context, contexts.CONTEXT_LIVE) == len(live)
    reset(context)
    assert word(context, contexts.CONTEXT_LIVE) == 0 == word(context, contexts.CONTEXT_LIVE_BYTES)
    held = word(context, contexts.CONTEXT_HELD_BYTES)
    for size in sorted(live.values(), reverse=True):
        alloc(context, size)
    # Nearly all of it came from the free lists: a block may have served a request of a smaller class before.
    assert word(context, contexts.CONTEXT_HELD_BYTES) <= 1.01 * held


def test_grow_keeps_contents_and_doubles(context: int) -> None:
    p = grow(context, None, 100)
    ctypes.memmove(p, b"abc" * 30, 90)
    capacity = word(context, contexts.CONTEXT_LIVE_BYTES)
    assert grow(context, p, capacity) == p
    q = grow(context, p, capacity + 1)
    assert q != p and ctypes.string_at(q, 90) == b"abc" * 30
    assert word(context, contexts.CONTEXT_LIVE_BYTES) >= 2 * capacity
    assert word(context, contexts.CONTEXT_LIVE) == 1


@pytest.mark.parametrize("size", [1 << 46, 1 << 50, -1, -(1 << 63)])
def test_impossible_sizes_give_null(context: int, size: int) -> None:
    assert alloc(context, size) is None
    p = alloc(context, 10)
    assert grow(context, p, size) is None
    free(context, p)
    assert word(context, contexts.CONTEXT_LIVE) == 0


def test_large_blocks_out_of_use_go_back_to_the_system(context: int) -> None:
    for megabytes in range(1, 60):
        free(context, alloc(context, megabytes << 20))
        I64.from_address(context + 32).value += 1  # a call later
    held = word(context, contexts.CONTEXT_HELD_BYTES)
    assert held < 60 * (arena.KEEP_CALLS + 2) << 20
    assert held < 59 * 60 // 2 << 20


def test_many_blocks_of_a_run_are_not_every_later_run_s(context: int) -> None:
    """Resetting goes through all blocks: those that a run has not used are given up if there are many."""
    for _ in range(3):
        for _ in range(5000):
            alloc(context, 3000)
        reset(context)
        I64.from_address(context + 32).value += 1  # a call later
        assert word(context, contexts.CONTEXT_HELD_BYTES) >= 5000 * 3000  # a run like it finds them again
    for _ in range(9):
        alloc(context, 3000)
    reset(context)
    assert word(context, contexts.CONTEXT_HELD_BYTES) <= 9 * 4096
    assert word(context, contexts.CONTEXT_LIVE) == 0


def test_a_few_blocks_that_are_live_at_the_end_are_found(context: int) -> None:
    """Results: among the blocks taken last, some of which were freed, taken again, or returned to the system since."""
    for size in (100, 3000, 1 << 21):
        for _ in range(arena.KEEP_CALLS + 2):
            alloc(context, size), alloc(context, 7 * size)
            for k in range(6):
                free(context, alloc(context, size + 64 * k))
            reset(context)
            assert word(context, contexts.CONTEXT_LIVE) == 0 == word(context, contexts.CONTEXT_LIVE_BYTES)
            held = word(context, contexts.CONTEXT_HELD_BYTES)
            again = alloc(context, size), alloc(context, 7 * size)
            assert word(context, contexts.CONTEXT_HELD_BYTES) == held  # they were free
            free(context, again[0])
            reset(context)
            assert word(context, contexts.CONTEXT_LIVE) == 0
            I64.from_address(context + 32).value += 1  # a call later
    gone = alloc(context, 1 << 20)
    free(context, gone)
    I64.from_address(context + 32).value += arena.KEEP_CALLS + 1
    free(context, alloc(context, 1 << 24))  # takes the memory of what is out of use
    alloc(context, 100)
    reset(context)
    assert word(context, contexts.CONTEXT_LIVE) == 0


def test_only_the_first_error_is_kept(context: int) -> None:
    raise_(context, 3, 4, -5)
    raise_(context, 6, 7, 8)
    assert I32.from_address(context + contexts.CONTEXT_ERROR).value == 1
    assert I32.from_address(context + contexts.CONTEXT_SITE).value == 3
    assert word(context, contexts.CONTEXT_A) == 4 and word(context, contexts.CONTEXT_B) == -5
    reset(context)
    assert I32.from_address(context + contexts.CONTEXT_ERROR).value == 0


def test_several_threads_allocate_at_once(context: int) -> None:
    wrong: list[int] = []

    def work(tag: int) -> None:
        rng = random.Random(tag)
        for _ in range(400):
            blocks = [alloc(context, rng.randrange(1, 3000)) for _ in range(5)]
            for p in blocks:
                ctypes.memset(p, tag, 1)
            wrong.extend(p for p in blocks if ctypes.string_at(p, 1) != bytes([tag]))
            for p in blocks:
                free(context, p)

    workers = [threading.Thread(target=work, args=(tag,)) for tag in range(1, 5)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert word(context, contexts.CONTEXT_LIVE) == 0


def test_pool_gives_the_last_one_first_and_clean() -> None:
    a, b = take(), take()
    assert a != b
    runtime.peak_bytes(reset=True)
    alloc(a, 5000)
    raise_(a, 1, 0, 0)
    give(a)
    assert runtime.peak_bytes() >= 5000
    assert take() == a
    assert word(a, contexts.CONTEXT_LIVE) == 0
    assert I32.from_address(a + contexts.CONTEXT_ERROR).value == 0
    give(a)
    give(b)


def test_a_block_returns_to_the_context_it_came_from() -> None:
    a, b = new(), new()
    p = alloc(a, 100)
    free(b, p)
    assert word(a, contexts.CONTEXT_LIVE) == 0 == word(b, contexts.CONTEXT_LIVE)
    assert alloc(a, 100) == p
    delete(a)
    delete(b)


def test_released_memory_is_gone() -> None:
    a = take()
    alloc(a, 3 << 20)
    give(a)
    assert runtime.held_bytes() >= 3 << 20
    runtime.release_memory()
    assert runtime.held_bytes() == 0


def test_thread_count(context: int) -> None:
    default = runtime.threads()
    assert threads(context) == default == threads(None)
    try:
        runtime.set_threads(7)
        assert threads(context) == 7
        I32.from_address(context + contexts.CONTEXT_THREADS).value = 2
        assert threads(context) == 2
        with pytest.raises(ValueError, match="1 to 1024"):
            runtime.set_threads(0)
    finally:
        runtime.set_threads(default)
