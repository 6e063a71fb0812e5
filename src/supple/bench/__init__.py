"""Benchmarks: figures of this machine, never tests. Peers are measured in the same run, in turns with us."""
