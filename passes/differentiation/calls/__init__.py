"""Calls in both sweeps: records, rules, and steps that run again by a schedule."""
