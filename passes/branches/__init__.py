"""Branches: joined, turned into selections, or left with less in them."""
