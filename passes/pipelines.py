"""The named pipelines: sequences of passes as values."""

from __future__ import annotations

from adc.passes.base import Pipeline
from adc.passes.canonicalize import Canonicalize
from adc.passes.cse import CSE
from adc.passes.dce import DCE

SIMPLIFY: Pipeline = (Canonicalize(), CSE(), DCE())
