"""Watching what runs: ``adc.progress``."""
