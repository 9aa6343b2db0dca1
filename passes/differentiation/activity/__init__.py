"""What varies with the inputs and matters to the outputs, and how floats flow through operations."""
