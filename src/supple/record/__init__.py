"""Recordings: HDF5 files that survive a killed run at any instant, can be read while intact, continued and exported."""
