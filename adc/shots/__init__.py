"""Sums over shots, which any executor can run: ``adc.sum_shots``."""
