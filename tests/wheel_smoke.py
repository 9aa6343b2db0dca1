"""Run by `make wheel` with the Python of an environment that has nothing but the wheel, outside the checkout."""

from __future__ import annotations

import sys
from pathlib import Path


def main(checkout: str) -> None:
    import adc
    import adc.backend
    import adc.frontend
    import adc.ir
    import adc.passes

    for module in (adc, adc.backend, adc.frontend, adc.ir, adc.passes):
        place = Path(str(module.__file__)).resolve()
        assert "site-packages" in place.parts, f"{module.__name__} came from {place}, not from the wheel"
    for name in ("ir", "frontend", "passes", "backend"):
        try:
            __import__(name)
        except ModuleNotFoundError:
            continue
        raise AssertionError(f"the wheel installs a top-level module {name}")
    print(f"wheel: adc imports from {Path(str(adc.__file__)).parent}")


if __name__ == "__main__":
    main(sys.argv[1])
