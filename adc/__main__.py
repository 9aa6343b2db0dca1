"""``python -m adc``."""

import sys

from adc.cli import main

sys.exit(main())
