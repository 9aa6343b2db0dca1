"""Calls, closures and signatures."""
