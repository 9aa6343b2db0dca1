"""Sums over shots, which any executor may run: ``adc.sum_shots``."""
