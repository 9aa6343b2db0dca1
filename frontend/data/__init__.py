"""Abstract values: what they are and what they hold."""
