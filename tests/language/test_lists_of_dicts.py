"""Lists of run-time length whose items are dicts with known keys: records of what a loop found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad
from tests.language.as_in_python import NUMBERS, check


def chosen(x: Any) -> Any:
    rows = []
    for i in range(len(x)):
        if x[i] > 0.3:
            rows.append({"i": i, "v": x[i] * 2, "sq": x[i] ** 2})
    best = max(rows, key=lambda r: r["v"])
    return best["sq"] + sum(r["v"] for r in rows) * rows[0]["i"] + rows[-1]["v"] + len(best)


def test_records_of_a_loop_in_all_modes() -> None:
    compiled = check(chosen)
    along, step = np.arange(6.0), 1e-6
    gradient = adc.grad(chosen)
    change = (gradient(NUMBERS + step * along) - gradient(NUMBERS - step * along)) / (2 * step)
    assert adc.hvp(chosen, (NUMBERS,), (along,)) == pytest.approx(change, rel=1e-5, abs=1e-6)
    assert compiled.jvp((NUMBERS,), (along,))[1] == pytest.approx(gradient(NUMBERS) @ along, rel=1e-12)
    rows = np.stack([NUMBERS, NUMBERS[::-1]])
    assert adc.vmap(chosen)(rows) == pytest.approx([chosen(row) for row in rows], rel=1e-14)


def noted(rows: Any, t: float, y: Any) -> None:
    rows.append({"t": t, "y": y.copy(), "norm": y[0] * y[1]})


def test_arrays_in_dicts_that_a_function_appends() -> None:
    def function(x: Any) -> Any:
        rows, y, t = [], x.copy(), 0.0
        while t < 1.0:
            y = y * (1 - 0.1 * y)
            t += 0.25
            noted(rows, t, y)
        last, total = rows[-1], 0.0
        for r in rows:
            total += r["y"][2] * r["t"]
        return total + last["norm"] * rows[1]["t"]

    check(function)


def test_comprehensions_and_columns() -> None:
    def function(x: Any) -> Any:
        rows = [dict(a=v, b=v * v) for v in x if v > 0.1]
        columns = {k: np.array([r[k] for r in rows]) for k in ("a", "b")}
        keep = [r for r in rows if r["a"] > 0.5]
        return columns["a"][1] * columns["b"][2] + len(keep) * keep[0]["b"]

    check(function)


class Log:
    def __init__(self) -> None:
        self.entries = []

    def add(self, **values: Any) -> None:
        self.entries.append(values)

    def column(self, name: str) -> Any:
        return np.array([entry[name] for entry in self.entries])


def test_keyword_arguments_in_an_object() -> None:
    def function(x: Any) -> Any:
        log = Log()
        for i, v in enumerate(x):
            if v > 0.2:
                log.add(step=i, value=v, error=abs(v - 0.5))
        return log.column("value")[0] * log.column("error")[-1] + log.column("step").sum()

    check(function)


def test_texts_lists_and_dicts_in_dicts() -> None:
    def function(x: Any) -> Any:
        rows = []
        for v in x:
            if v > 0.3:
                rows.append({"v": v, "name": "high" if v > 0.6 else "low", "more": {"z": v * v, "both": [v, 2 * v]}})
        total = sum(r["v"] for r in rows if r["name"] == "high") + sum("v" in r for r in rows)
        for r in rows:
            for k, value in r.items():
                if k == "more":
                    total += value["z"] * value["both"][1]
        return total

    check(function)


def test_order_and_changes_of_the_list() -> None:
    def function(x: Any) -> Any:
        rows = []
        for v in x:
            if v > 0.3:
                rows.append({"v": v})
        rows.sort(key=lambda r: r["v"], reverse=True)
        rows[0], rows[1] = rows[1], rows[0]
        rows.insert(1, {"v": 9.0 * x[0]})
        rows[2] = {**rows[2], "v": x[1]}
        more = [*rows, {"v": x[1]}, *rows[1:]]
        return sum(k * r["v"] for k, r in enumerate(more)) + rows.pop()["v"]

    check(function)


def test_copies_of_a_dict_that_changes() -> None:
    def function(x: Any) -> Any:
        rows, state = [], {"v": 0.0, "k": 0}
        for v in x:
            state["v"] += v
            state["k"] += 1
            if v > 0.3:
                rows.append(dict(state))
            rows.append({**state, "v": 1.0})
            rows.append(state.copy())
        return sum(r["v"] * r["k"] for r in rows)

    check(function)


def test_a_dict_that_is_only_read_in_the_list() -> None:
    def function(x: Any) -> Any:
        rows = []
        for i in range(len(x) + int(x[0] > 0.5)):
            row = {"i": i, "v": x[i % 6]}
            row["w"] = row["v"] * i
            rows.append(row)
        total = 0.0
        for row in sorted(rows, key=lambda r: -r["v"]):
            total = total * 0.5 + row["w"] + len(row)
        return total

    check(function)


def listed(x: Any) -> Any:
    rows = []
    for k, v in enumerate(x):
        if v > 0.3:
            rows.append({"k": k, "v": v * v, "p": np.array([v, 1.0])})
    return rows


def test_results() -> None:
    compiled = jit_grad(listed)
    got, expected = compiled(NUMBERS), listed(NUMBERS)
    assert [list(r) for r in got] == [list(r) for r in expected]
    for mine, theirs in zip(got, expected, strict=True):
        assert (mine["k"], mine["v"], mine["p"].tolist()) == (theirs["k"], theirs["v"], theirs["p"].tolist())


REFUSED = "|".join(("has a name, cannot become an item", "cannot be changed: it is in a list"))


def changed_before_each_append(x: Any, n: int) -> Any:
    row, rows = {"v": 0.0}, []
    for k in range(n):
        row["v"] += x[k % 6]
        if x[k % 6] > 0.1:
            rows.append(row)
    return sum(r["v"] for r in rows)


def changed_afterwards(x: Any, n: int) -> Any:
    row, rows = {"v": x[0]}, []
    rows = [row for k in range(n) if x[k % 6] > 0.3]
    row["v"] = 3.0
    return sum(r["v"] for r in rows)


def changed_where_it_was_first(x: Any, n: int) -> Any:
    row = {"v": x[0]}
    rows = [row]
    for k in range(n):
        if x[k % 6] > 0.4:
            rows.append({"v": x[k % 6]})
        row["v"] += 1.0
    return sum(r["v"] for r in rows)


def changed_in_the_list(x: Any, n: int) -> Any:
    rows = []
    for k in range(n):
        if x[k % 6] > 0.1:
            rows.append({"v": x[k % 6]})
    for row in rows:
        row["v"] += 1.0
    return rows[0]["v"]


def perhaps_one_of_the_list(x: Any, n: int) -> Any:
    rows, row = [], {"v": 0.0}
    for k in range(n):
        if x[k % 6] > 0.1:
            rows.append({"v": x[k % 6]})
    if x[0] > 0.5:
        row = rows[0]
    row["v"] += 1
    return sum(r["v"] for r in rows) + row["v"]


class Walk:
    def __init__(self) -> None:
        self.past = []
        self.now = {"v": 0.0}

    def step(self, v: Any) -> None:
        self.now["v"] += v
        now = self.now
        if v > 0.1:
            self.past.append(now)


def changed_as_an_attribute(x: Any, n: int) -> Any:
    walk = Walk()
    for k in range(n):
        walk.step(x[k % 6])
    return sum(r["v"] for r in walk.past)


def put(rows: Any, row: Any) -> None:
    rows.append(row)


def changed_by_the_caller(x: Any, n: int) -> Any:
    rows, row = [], {"v": 0.0}
    for k in range(n):
        row["v"] += x[k % 6]
        if x[k % 6] > 0.1:
            put(rows, row)
    return sum(r["v"] for r in rows)


def changed_in_the_next_iteration(x: Any, n: int) -> Any:
    rows = []
    for k in range(n):
        if k % 3 == 0:
            row = {"v": 0.0}
        row["v"] += x[k % 6]
        if x[k % 6] > 0.1:
            rows.append(row)
    return sum(r["v"] for r in rows)


def changed_by_a_function_inside(x: Any, n: int) -> Any:
    rows, row = [], {"v": 0.0}

    def change(v: Any) -> None:
        row["v"] += v

    for k in range(n):
        change(x[k % 6])
        if x[k % 6] > 0.1:
            rows.append(row)
    return sum(r["v"] for r in rows)


@pytest.mark.parametrize(
    "program",
    [
        changed_as_an_attribute,
        changed_by_the_caller,
        changed_in_the_next_iteration,
        changed_by_a_function_inside,
        changed_before_each_append,
        changed_afterwards,
        changed_where_it_was_first,
        changed_in_the_list,
        perhaps_one_of_the_list,
    ],
)
def test_a_dict_with_several_names_is_never_copied_in_silence(program: Any) -> None:
    with pytest.raises(errors.CompileError, match=REFUSED):
        jit_grad(program)(NUMBERS, 6)
