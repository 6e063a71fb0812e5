"""Operation counts of algorithms."""
