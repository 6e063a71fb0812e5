"""The papers' tables and figures, ours beside theirs: a file per paper, with run(out, quick, console)."""
