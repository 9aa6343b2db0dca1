"""Machines with small caches and short vectors, so that small programs get the code for large ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adc.passes.analysis import machine


def pretend(patch: pytest.MonkeyPatch, **figures: int) -> None:
    """Code is made for a CPU with these figures."""
    patch.setattr(machine, "CPU", replace(machine.CPU, **figures))
