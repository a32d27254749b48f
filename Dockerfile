FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements/run.txt requirements/run.txt
RUN python -m venv /opt/ukai \
 && /opt/ukai/bin/pip install --no-cache-dir --require-hashes -r requirements/run.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/ukai/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.13-slim
ARG WORKSPACE=examples/harbor-apis
ARG UKAI_BUILD_COMMIT=""
ARG UKAI_BUILD_TREE=""
LABEL org.opencontainers.image.revision="${UKAI_BUILD_COMMIT}" ukai.tree="${UKAI_BUILD_TREE}"
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin ukai
COPY --from=build /opt/ukai /opt/ukai
COPY . /srv/tree
WORKDIR /srv/tree/${WORKSPACE}
ENV PATH=/opt/ukai/bin:$PATH HOME=/tmp PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
ENV UKAI_BUILD_COMMIT=${UKAI_BUILD_COMMIT} UKAI_BUILD_TREE=${UKAI_BUILD_TREE} UKAI_HOST=0.0.0.0 UKAI_PORT=8300
USER 10001
EXPOSE 8300
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s --retries=3 \
  CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['UKAI_PORT'] + '/healthz', timeout=4)"]
CMD ["ukai", "serve"]
