"""GradBench's programs, written plainly, beside hand-written C and JAX; and adc as a tool of GradBench."""
