"""Checkpointing: steps of long loops are run again in the reverse sweep instead of being kept on a tape."""
