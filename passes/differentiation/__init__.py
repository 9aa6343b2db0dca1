"""Reverse-mode differentiation: rules, analyses, storage plan, tape, reverse sweep."""
