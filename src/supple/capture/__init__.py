"""Captured motion: torques and ground reaction [RR section 7.1]."""
