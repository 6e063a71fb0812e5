"""Slow or simple methods for comparison with others."""
