"""Slow or simple methods that others are compared with."""
