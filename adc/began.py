"""When adc was imported: the package reads this module before all others."""

import time

BEGAN = time.time_ns()
