"""Walkers: their steps, impacts and gaits [RR section 8]."""
