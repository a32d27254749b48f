"""The one Dockerfile: the whole tree in every image, and a variable that picks what a container serves (P2.1)."""

from __future__ import annotations

import json

from ukai.app.deploy.value import COMMIT, PORT, TREE, USER

FILE = "Dockerfile"
IGNORE = ".dockerignore"
EXTRAS = "server,slack,otel,providers"
PYTHON = "python:3.13-slim"

IGNORED = """\
# What belongs to one machine, or to nobody's image.
.git
**/.ukai
**/.env
**/.venv
**/__pycache__
**/.pytest_cache
**/.ruff_cache
**/.hypothesis
"""

CHECK = (
    "import os, urllib.request; "
    "urllib.request.urlopen('http://127.0.0.1:' + os.environ['UKAI_PORT'] + '/healthz', timeout=4)"
)
"""An image holds no curl, and loading the product every half minute would cost more than it serves."""

_PACKAGE = """\
RUN python -m venv /opt/ukai \\
 && /opt/ukai/bin/pip install --no-cache-dir "ukai[{extras}]=={version}"
"""
_SOURCE = """\
COPY requirements/run.txt requirements/run.txt
RUN python -m venv /opt/ukai \\
 && /opt/ukai/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/ukai/bin/pip install --no-cache-dir --no-deps --no-build-isolation .
"""
_WHOLE = """\
FROM {python} AS build
WORKDIR /build
{install}
FROM {python}
ARG WORKSPACE={workspace}
ARG {commit}=""
ARG {tree}=""
LABEL org.opencontainers.image.revision="${{{commit}}}" ukai.tree="${{{tree}}}"
RUN useradd --uid {user} --no-create-home --shell /usr/sbin/nologin ukai
COPY --from=build /opt/ukai /opt/ukai
COPY . /srv/tree
WORKDIR /srv/tree/${{WORKSPACE}}
ENV PATH=/opt/ukai/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
ENV {commit}=${{{commit}}} {tree}=${{{tree}}} UKAI_HOST=0.0.0.0 UKAI_PORT={port}
USER {user}
EXPOSE {port}
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \\
  CMD {check}
CMD ["ukai", "serve"]
"""


def of_package(version: str, *, workspace: str) -> str:
    """For a company's own monorepo, in which `workspace` is the folder with `ukai.yaml`."""
    return _text(_PACKAGE.format(extras=EXTRAS, version=version), workspace)


def of_source(*, workspace: str) -> str:
    """For this repository itself."""
    return _text(_SOURCE, workspace)


def _text(install: str, workspace: str) -> str:
    return _WHOLE.format(
        python=PYTHON,
        install=install,
        workspace=workspace,
        commit=COMMIT,
        tree=TREE,
        user=USER,
        port=PORT,
        check=json.dumps(["python", "-c", CHECK]),
    )
