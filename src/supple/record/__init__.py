"""Recordings: HDF5 files that a run can be killed over at any instant, read while whole, continued and exported."""
