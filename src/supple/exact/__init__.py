"""The exact algorithms, one a file."""
