"""Calling compiled code from Python without ctypes."""
