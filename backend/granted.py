"""How many processors this process may use, according to its affinity, its control groups and its launcher.

Each of these may be fewer than the machine has. A job scheduler or a container sets an affinity or a quota for all its
processes; an MPI launcher starts several processes on a machine; and a Dask worker runs several tasks at a time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

_VARIABLES = "ADC_NUM_THREADS", "OMP_NUM_THREADS"
_MOST = 1024

# How many processes of a job run on this machine: variables of Open MPI, MPICH and its relatives, MVAPICH and PALS.
_LOCAL_SIZES = "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE", "PALS_LOCAL_SIZE"
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def asked() -> int | None:
    """The number of threads that the environment asks for: ``ADC_NUM_THREADS``, else ``OMP_NUM_THREADS``, which joblib
    and Dask set for their workers."""
    found = (_number(os.environ, name) for name in _VARIABLES)
    return next((min(number, _MOST) for number in found if number), None)


def processors() -> int:
    """How many processors this process may use, at least one."""
    own = _affinity(0) or os.cpu_count() or 1
    quota = _quota()
    bounds = [own]
    if quota is not None:
        bounds.append(int(quota))
    if (most := _number(os.environ, "LOKY_MAX_CPU_COUNT")) is not None:
        bounds.append(most)
    local = next((n for name in _LOCAL_SIZES if (n := _number(os.environ, name))), 1)
    if local > 1:
        # A launcher may bind each process to separate processors, and itself to all of them.
        machine = max(own, _affinity(os.getppid()) or 0)
        bounds.append((machine if quota is None else min(machine, int(quota))) // local)
    return max(1, min(bounds) // _tasks_at_a_time())


def _number(variables: Mapping[str, str], name: str) -> int | None:
    """A positive number in the environment."""
    text = variables.get(name, "")
    return int(text) if text.isdecimal() and int(text) > 0 else None


def _affinity(process: int) -> int | None:
    try:
        return len(os.sched_getaffinity(process))
    except (AttributeError, OSError):
        return None


def _quota() -> float | None:
    """The number of processors that the enclosing control groups grant to all their processes; None without a quota."""
    return min(_quotas(_own_groups(), _CONTROL_GROUPS), default=None)


def _own_groups() -> str:
    try:
        return _OWN_GROUPS.read_text()
    except OSError:
        return ""


def _quotas(groups: str, root: Path) -> Iterator[float]:
    """The quotas of the groups in ``groups`` (text in the form of ``/proc/self/cgroup``) and of their enclosing groups.

    In a container the path may be the host's; then the files of the group are in the root.
    """
    for line in groups.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "":
            yield from (q for place in _upwards(root, path) if (q := _version_two(place)) is not None)
        elif "cpu" in controllers.split(","):
            for base in (root / controllers, root / "cpu"):
                yield from (q for place in _upwards(base, path) if (q := _version_one(place)) is not None)


def _upwards(root: Path, path: str) -> Iterator[Path]:
    """A group and the groups that enclose it, up to the root."""
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for count in range(len(parts), -1, -1):
        yield root.joinpath(*parts[:count])


def _version_two(place: Path) -> float | None:
    most, _, period = _read(place / "cpu.max").partition(" ")
    return _ratio(most, period)


def _version_one(place: Path) -> float | None:
    return _ratio(_read(place / "cpu.cfs_quota_us"), _read(place / "cpu.cfs_period_us"))


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _ratio(most: str, period: str) -> float | None:
    """The quota in processors; None where there is no quota (``max`` or a negative number)."""
    if not (most.isdecimal() and period.isdecimal()) or int(period) == 0:
        return None
    return int(most) / int(period)


def _tasks_at_a_time() -> int:
    """How many tasks the Dask worker of this task runs at a time; one outside of Dask."""
    distributed = sys.modules.get("distributed")
    try:
        return max(1, int(distributed.get_worker().state.nthreads)) if distributed is not None else 1
    except Exception:  # not in a task, or another version
        return 1
