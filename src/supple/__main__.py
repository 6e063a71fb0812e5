"""`supple`, and `python -m supple`: nothing is imported before Ctrl-C is answered in one line, as later."""

import sys


def main() -> None:
    try:
        from supple.cli import main as run
    except KeyboardInterrupt:
        print("supple: stopped", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
