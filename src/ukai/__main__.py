"""`python -m ukai` and the `ukai` command."""

from ukai.surfaces import cli


def main() -> None:
    """Run the command line."""
    cli.main()


if __name__ == "__main__":
    main()
