"""Which loops run in parallel: their iterations are proved independent, or the user promises it."""
