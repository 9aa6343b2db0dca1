"""The text format of the IR, written and read."""
