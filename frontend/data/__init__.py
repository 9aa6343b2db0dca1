"""Abstract values: what they are, what they hold, and how two of them come together."""
