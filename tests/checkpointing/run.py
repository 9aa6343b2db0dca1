"""Many random stencil programs with random schedules: ``python -m tests.checkpointing.run --programs 200``."""

from __future__ import annotations

import sys

from tests import many
from tests.checkpointing.check import check

if __name__ == "__main__":
    sys.exit(many.run(check, many.parser(__doc__, 200).parse_args(), report=20))
