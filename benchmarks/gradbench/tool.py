"""adc as a tool of GradBench: a process that answers messages, one line of JSON each.

    gradbench run --eval EVAL --tool "python -m benchmarks.gradbench.tool"

Every message has an ``id``, which is returned. ``define`` names a module, which is a program of this benchmark;
``evaluate`` names a function of it and gives its input. The answer has the output and the times, in nanoseconds, of as
many runs as the input requests (``min_runs``, ``min_seconds``). Work that is done once per input, compilation included,
is timed as ``prepare``.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.gradbench.program import Program
from benchmarks.gradbench.programs import NAMES, program


def respond(message: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"id": message["id"]}
    try:
        match message["kind"]:
            case "start":
                made["tool"] = "adc"
            case "define":
                named(message["module"])
                made["success"] = True
            case "evaluate":
                made |= evaluate(named(message["module"]), message["function"], message["input"])
    except Exception:
        made |= {"success": False, "error": traceback.format_exc()}
    return made


def named(module: str) -> Program:
    if module not in ("hello", *NAMES):
        raise LookupError(f"there is no program {module!r}")
    return program(module)


def evaluate(given: Program, function: str, inputs: Any) -> dict[str, Any]:
    def asked(name: str, default: float) -> float:
        return float(inputs.get(name, default)) if isinstance(inputs, dict) else default

    begin = time.perf_counter_ns()
    calls = given.by_adc(inputs)
    if function not in calls:
        raise LookupError(f"there is no function {function!r} in {given.name}")
    call = calls[function]
    result = call()
    timings = [("prepare", time.perf_counter_ns() - begin)]
    total = 0
    while len(timings) <= asked("min_runs", 1) or total < 1e9 * asked("min_seconds", 0.0):
        begin = time.perf_counter_ns()
        result = call()
        timings.append(("evaluate", time.perf_counter_ns() - begin))
        total += timings[-1][1]
    output = result if given.answer is None else given.answer(inputs, function, result)
    return {
        "success": True,
        "output": listed(output),
        "timings": [{"name": name, "nanoseconds": count} for name, count in timings],
    }


def listed(value: Any) -> Any:
    """A value in JSON's types: lists in place of arrays."""
    if isinstance(value, dict):
        return {name: listed(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [listed(item) for item in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def answers(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield json.dumps(respond(json.loads(line)))


def main() -> None:
    for answer in answers(sys.stdin):
        print(answer, flush=True)


if __name__ == "__main__":
    main()
