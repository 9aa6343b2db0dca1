"""What the stages made and decided, as text and data: reports, forecasts, dumps of the IR."""
