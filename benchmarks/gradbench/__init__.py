"""GradBench's programs in plain Python, compared with hand-written C and JAX; and adc as a tool for GradBench."""
