"""The units of the run-time library: each is complete, an import compiles only one, and it imports no passes."""

import os
import re
import subprocess
import sys

import pytest

from adc.backend import runtime, runtime_units
from adc.backend.library import numpy_abi, python_abi
from adc.backend.support import sorts

IMPORT = """
import sys
from adc.backend import runtime_units
made = []
addresses = runtime_units.addresses
runtime_units.addresses = lambda name: made.append(name) or addresses(name)
from adc import jit_grad
f = jit_grad(lambda x: x * x)
assert set(made) == {"callable"}, made
assert not {"adc.passes.pipelines", "adc.backend.lowering.lower"} & sys.modules.keys()
assert f.grad(3.0) == 6.0
assert set(made) == {"callable", "core"}, made
"""


def test_an_import_compiles_the_slots_alone(tmp_path):
    environment = {**os.environ, "ADC_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", IMPORT], check=True, env=environment)


@pytest.mark.parametrize("name", [name for name in runtime_units.UNITS if name not in sorts.NAMES])
def test_a_unit_is_loaded(name):
    runtime.address(runtime_units.UNITS[name].exports[0])
    found = runtime_units.addresses(name)
    assert found.keys() == set(runtime_units.UNITS[name].exports) and all(found.values())


def test_a_symbol_has_one_home():
    exports = [symbol for unit in runtime_units.UNITS.values() for symbol in unit.exports]
    assert len(exports) == len(set(exports)) == len(runtime_units.HOMES)
    others = {*python_abi.DECLARATIONS, *python_abi.OBJECTS, *numpy_abi.DECLARATIONS, *numpy_abi.OBJECTS}
    assert not others & runtime_units.HOMES.keys()


def test_what_is_exported_is_what_is_defined():
    for unit in runtime_units.UNITS.values():
        pattern = r"^(?:define (?!internal)[^@]*@|@)(\w+)(?! = internal)"
        defined = re.findall(pattern, unit.text(), re.MULTILINE)
        assert set(unit.exports) <= set(defined)
