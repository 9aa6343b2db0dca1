"""Which loops run in parallel: iterations proved independent, or promised to be."""
