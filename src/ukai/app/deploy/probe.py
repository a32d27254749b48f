"""`python -m ukai.app.deploy.probe`: whether the server of this container is healthy; images hold no curl."""

from __future__ import annotations

import http.client
import os
import sys


def main() -> int:
    """0 when `/healthz` says so."""
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("UKAI_PORT", "8300")), timeout=4)
    try:
        connection.request("GET", "/healthz")
        return 0 if connection.getresponse().status == http.HTTPStatus.OK else 1
    except (OSError, http.client.HTTPException):
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(main())
