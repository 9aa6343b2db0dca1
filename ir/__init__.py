"""adc's typed SSA IR: types, operations, builder, printer, parser, verifier, reference interpreter."""
