"""`python -m ukai` and the `ukai` command."""

from pathlib import Path
from typing import Any

from ukai.surfaces import cli


def main() -> None:
    """Run the command line."""
    cli.main(serve=_serve)


def _serve(workspace: Path, **options: Any) -> None:
    """Over HTTP with the options of an address; without any, over standard input and output."""
    from ukai import serve  # only what serves loads a server

    if options:
        serve.serve(workspace, **options)
    else:
        serve.stdio(workspace)


if __name__ == "__main__":
    main()
