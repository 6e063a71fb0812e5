"""Inputs nobody would write, against everything that reads or takes one: `python -m tests.fuzz --help`."""
