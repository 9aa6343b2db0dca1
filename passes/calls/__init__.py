"""Calls: inlined, shared by equal arguments, or left out where nothing needs their rule."""
