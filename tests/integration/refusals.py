"""What the Python clients say when they cannot use a broker, or it refuses them."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import aiokafka
import kafka
import kafka.errors
import pytest


def refused_by_kafka_python(settings):
    """What kafka-python logs about a broker that it cannot use, or that refuses it."""
    with logged("kafka") as lines, pytest.raises(kafka.errors.KafkaError):
        kafka.KafkaAdminClient(**settings, bootstrap_timeout_ms=5000).close()
    return "\n".join(lines)


async def refused_by_aiokafka(settings):
    """What aiokafka says about a broker that it cannot use, or that refuses it."""
    producer = aiokafka.AIOKafkaProducer(**settings)
    with logged("aiokafka") as lines, pytest.raises(aiokafka.errors.KafkaError) as error:
        async with asyncio.timeout(90):
            await producer.start()
    await producer.stop()
    return "\n".join([*lines, repr(error.value)])


@contextlib.contextmanager
def logged(name):
    """The lines that a library logs meanwhile, though a tool that ran in this process has silenced it."""
    lines, handler = [], logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
