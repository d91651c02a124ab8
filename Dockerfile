# The broker's image: compiled and resolved in the first stage, copied into the second, which has no compiler,
# no pip cache and no Spark.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /tools && python -m venv /opt/barnabas
COPY requirements.lock ./
RUN /tools/bin/pip install --quiet --constraint requirements.lock grpcio-tools mypy-protobuf "setuptools>=77,<90"
COPY pyproject.toml README.md LICENSE ./
COPY proto proto
COPY scripts/proto scripts/proto
COPY analysis analysis
COPY barnabas barnabas
COPY bench bench
COPY broker broker
COPY cluster cluster
COPY controller controller
RUN PYTHON=/tools/bin/python scripts/proto \
    && /opt/barnabas/bin/pip install --quiet --constraint requirements.lock . \
    && /opt/barnabas/bin/pip uninstall --quiet --yes pip setuptools \
    && find /opt/barnabas -name __pycache__ -prune -exec rm -rf {} +

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 1000 --home-dir /var/lib/barnabas --create-home barnabas
COPY --from=build /opt/barnabas /opt/barnabas
COPY scripts/container/server.properties /etc/barnabas/server.properties
ENV PATH=/opt/barnabas/bin:$PATH PYTHONUNBUFFERED=1
USER barnabas
WORKDIR /var/lib/barnabas
VOLUME /var/lib/barnabas
EXPOSE 9092 9192 9404
ENTRYPOINT ["python", "-P", "-m", "broker", "/etc/barnabas/server.properties"]
