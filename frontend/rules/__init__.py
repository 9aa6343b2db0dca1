"""Derivative rules that users give: which there are, which one a call takes, and how it becomes IR."""
