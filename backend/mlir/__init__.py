"""The IR as MLIR of the standard dialects."""
