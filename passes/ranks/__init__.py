"""Arrays distributed among ranks: ``adc.distribute``."""
