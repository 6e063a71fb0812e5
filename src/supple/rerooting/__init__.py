"""Changing the root of a moving body [RR]."""
