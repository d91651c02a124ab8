# The image of brokers and of Kafka's tools. What is installed and compiled is so in the first stage; the second has
# no compiler, no pip and no Spark, which is in Dockerfile.analysis.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /tools && python -m venv --without-pip /opt/barnabas/.venv
COPY requirements.lock pyproject.toml ./
COPY scripts/container/requirements.py scripts/container/
RUN /tools/bin/python scripts/container/requirements.py dependencies oauth page > wanted.txt \
    && /tools/bin/pip install --quiet --constraint requirements.lock grpcio-tools wheel "setuptools>=77,<90" \
    && /tools/bin/pip --python /opt/barnabas/.venv/bin/python install --quiet --constraint requirements.lock -r wanted.txt
# From here on, what a change of the source builds again.
COPY README.md LICENSE setup.py ./
COPY proto proto
COPY analysis analysis
COPY barnabas barnabas
COPY broker broker
COPY cluster cluster
COPY controller controller
RUN /tools/bin/pip wheel --quiet --no-deps --no-build-isolation --wheel-dir . . \
    && /tools/bin/pip --python /opt/barnabas/.venv/bin/python install --quiet --no-deps --no-index barnabas-*.whl

FROM python:3.11-slim-bookworm
RUN useradd --system --uid 1000 --home-dir /var/lib/barnabas --create-home barnabas
COPY --from=build /opt/barnabas /opt/barnabas
COPY scripts/container/server.properties /etc/barnabas/server.properties
ENV PATH=/opt/barnabas/.venv/bin:$PATH PYTHONUNBUFFERED=1
USER barnabas
WORKDIR /var/lib/barnabas
VOLUME /var/lib/barnabas
EXPOSE 9092 9192 9404 19092
# On a busy machine Python alone takes seconds to start. A broker without ZooKeeper is unhealthy after two minutes: Compose's
# `up --wait` gives up at once on an unhealthy one, and should have the time to heal an ensemble.
HEALTHCHECK --interval=2s --timeout=10s --start-period=60s --retries=60 \
    CMD ["python", "-P", "-m", "barnabas.broker.health", "http://127.0.0.1:9404"]
ENTRYPOINT ["python", "-P", "-m", "barnabas.broker", "/etc/barnabas/server.properties"]
