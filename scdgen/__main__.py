"""``python -m scdgen``: the command line."""

from scdgen.cli.main import main

if __name__ == "__main__":
    main()
