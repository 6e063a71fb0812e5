"""The exact algorithms, one per file."""
