"""Many random stencil programs, on all processors: ``python -m tests.stencils.run --programs 500``.

Prints failures with their seeds; the exit code says whether there were any. One seed again:
``python -m tests.stencils.run --first SEED --programs 1``.
"""

from __future__ import annotations

import sys

from tests import many
from tests.stencils.check import check

if __name__ == "__main__":
    sys.exit(many.run(check, many.parser(__doc__, 500).parse_args(), report=50))
