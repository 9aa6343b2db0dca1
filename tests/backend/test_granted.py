"""The default number of threads: environment, affinity, control groups and launchers."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path

import pytest

from adc.backend import granted

VARIABLES = *granted._VARIABLES, *granted._LOCAL_SIZES, "LOKY_MAX_CPU_COUNT"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Sixteen processors, no quota; affinities by process can be given."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    affinities: dict[int, int] = {}
    monkeypatch.setattr(granted, "_affinity", lambda process: affinities.get(process, 16))
    monkeypatch.setattr(granted, "_quota", lambda: None)
    monkeypatch.setitem(sys.modules, "distributed", None)
    return affinities


@pytest.mark.parametrize("text, found", [("", None), ("0", None), ("-2", None), ("x", None), ("²", None), ("3", 3)])
def test_environment(monkeypatch: pytest.MonkeyPatch, text: str, found: int | None) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert granted.asked() == found
    monkeypatch.setenv("ADC_NUM_THREADS", "5000")
    assert granted.asked() == 1024


def test_affinity_and_quota(monkeypatch: pytest.MonkeyPatch, machine: dict[int, int]) -> None:
    assert granted.processors() == 16
    machine[0] = 6
    assert granted.processors() == 6
    for quota, threads in (0.5, 1), (2.9, 2), (40.0, 6):
        monkeypatch.setattr(granted, "_quota", lambda quota=quota: quota)
        assert granted.processors() == threads


def test_joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "3")
    assert granted.processors() == 3


@pytest.mark.parametrize("name", granted._LOCAL_SIZES)
def test_processes_of_a_launcher(monkeypatch: pytest.MonkeyPatch, machine: dict[int, int], name: str) -> None:
    monkeypatch.setenv(name, "4")
    assert granted.processors() == 4
    machine[0] = 2  # bound to two, the launcher to all
    assert granted.processors() == 2
    machine[0] = 8  # bound to the half of the machine that four share
    assert granted.processors() == 4
    machine[0] = machine[os.getppid()] = 8  # all of them are bound to that half
    assert granted.processors() == 2
    monkeypatch.setattr(granted, "_quota", lambda: 4.0)
    assert granted.processors() == 1
    monkeypatch.setenv(name, "64")
    assert granted.processors() == 1


def test_tasks_of_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise ValueError("no worker")

    worker = types.SimpleNamespace(state=types.SimpleNamespace(nthreads=8))
    for get_worker, threads in (none, 16), (lambda: worker, 2):
        monkeypatch.setitem(sys.modules, "distributed", types.SimpleNamespace(get_worker=get_worker))
        assert granted.processors() == threads


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text + "\n")


def test_control_groups_of_version_two(tmp_path: Path) -> None:
    groups = "0::/job/step\n"
    assert list(granted._quotas(groups, tmp_path)) == []
    write(tmp_path / "job" / "step", cpu__max="max 100000")
    write(tmp_path / "job", cpu__max="250000 100000")
    assert list(granted._quotas(groups, tmp_path)) == [2.5]
    write(tmp_path / "job" / "step", cpu__max="150000 100000")
    assert sorted(granted._quotas(groups, tmp_path)) == [1.5, 2.5]
    write(tmp_path, cpu__max="50000 100000")  # in a container whose path is the host's
    assert list(granted._quotas("0::/../../elsewhere\n", tmp_path)) == [0.5]


def test_control_groups_of_version_one(tmp_path: Path) -> None:
    groups = "5:devices:/\n4:cpu,cpuacct:/docker/x\n0::/\n"
    write(tmp_path / "cpu,cpuacct" / "docker" / "x", cpu__cfs_quota_us="300000", cpu__cfs_period_us="100000")
    write(tmp_path / "cpu,cpuacct", cpu__cfs_quota_us="-1", cpu__cfs_period_us="100000")
    assert list(granted._quotas(groups, tmp_path)) == [3.0]
    write(tmp_path / "cpu,cpuacct" / "docker" / "x", cpu__cfs_quota_us="300000", cpu__cfs_period_us="0")
    assert list(granted._quotas(groups, tmp_path)) == []
