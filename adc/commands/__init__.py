"""The commands of ``adc``."""
