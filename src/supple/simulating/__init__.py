"""A body followed through time: forces, integrators, events, and the runs that they make."""
