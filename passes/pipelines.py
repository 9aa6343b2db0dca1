"""The named pipelines: sequences of passes as values."""

from __future__ import annotations

from adc.passes.base import Pipeline
from adc.passes.canonicalize import Canonicalize
from adc.passes.cse import CSE
from adc.passes.dce import DCE
from adc.passes.dead_stores import DeadStores
from adc.passes.dealloc import InsertDeallocs
from adc.passes.ifconvert import IfConvert
from adc.passes.licm import LICM
from adc.passes.views import FoldViews

SIMPLIFY: Pipeline = (
    FoldViews(),
    Canonicalize(),
    CSE(),
    LICM(),
    Canonicalize(),
    CSE(memory=False),
    DeadStores(),
    DCE(),
)
"""Clean up code that is to be analysed or differentiated further: traced code, and adjoint code in between."""

FINISH: Pipeline = (Canonicalize(), CSE(), IfConvert(), DeadStores(), DCE())
"""After differentiation: what only makes the code faster."""

FREE: Pipeline = (InsertDeallocs(), Canonicalize(), DCE())
"""Last of all, on functions that are lowered next: memory is freed where its use ends."""

LOWER: Pipeline = (*SIMPLIFY, IfConvert(), *FREE)
"""From differentiated code to code that is lowered."""
