"""Abstract values: their classes and their contents."""
