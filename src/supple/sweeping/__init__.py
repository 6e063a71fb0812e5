"""Sweeps: many runs of a scene or of a function, on one core, all cores or a cluster, kept in one store."""
