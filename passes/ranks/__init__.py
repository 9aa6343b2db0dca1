"""Arrays that are shared out among ranks: ``adc.distribute``."""
