"""Checking derivatives: what ``adc.test_rule``, ``adc.check_grads``, ``adc.find_culprit`` and ``adc check`` do."""
