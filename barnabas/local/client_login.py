"""The login of a client by SCRAM over TLS: as settings of each library, and as files to start from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from barnabas.cluster.model.jaas import SCRAM_MODULE
from barnabas.cluster.model.properties import render_properties
from barnabas.cluster.model.scram import ScramMechanism

MECHANISM = ScramMechanism.SCRAM_SHA_512
"""The mechanism of the users of a cluster that ``barnabas up --secure`` made."""

_PROTOCOL = "SASL_SSL"


@dataclass(frozen=True, slots=True)
class ClientLogin:
    """A user of a cluster whose listener for clients is SASL_SSL; the text does not show the password.

    Attributes:
        user: The user.
        password: The password, of letters, digits, ``-`` and ``_``.
        authority: The file of the certificate that has issued those of the brokers, as PEM.
    """

    user: str
    password: str = field(repr=False)
    authority: Path

    def java(self) -> dict[str, str]:
        """Return the properties of Java's clients and of Kafka's tools."""
        return {
            "security.protocol": _PROTOCOL,
            "sasl.mechanism": MECHANISM.mechanism_name,
            "sasl.jaas.config": (
                f'{SCRAM_MODULE} required username="{self.user}" password="{self.password}";'
            ),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
        }

    def librdkafka(self) -> dict[str, str]:
        """Return the settings of librdkafka, and so of confluent-kafka."""
        return {
            "security.protocol": _PROTOCOL,
            "sasl.mechanism": MECHANISM.mechanism_name,
            "sasl.username": self.user,
            "sasl.password": self.password,
            "ssl.ca.location": str(self.authority),
        }

    def kafka_python(self) -> dict[str, str]:
        """Return the arguments of kafka-python's clients."""
        return {**self._python(), "ssl_cafile": str(self.authority)}

    def _python(self) -> dict[str, str]:
        return {
            "security_protocol": _PROTOCOL,
            "sasl_mechanism": MECHANISM.mechanism_name,
            "sasl_plain_username": self.user,
            "sasl_plain_password": self.password,
        }

    def properties(self, bootstrap: str) -> str:
        """Return a file for Java's clients and Kafka's tools."""
        comment = f"The login of user {self.user}, with a password. Written by `barnabas up` at every start."
        return render_properties({"bootstrap.servers": bootstrap, **self.java()}, comment)

    def examples(self, bootstrap: str, properties: Path) -> dict[str, str]:
        """Return a program for each library that writes a record, by file name.

        Args:
            bootstrap: ``bootstrap.servers``.
            properties: The file of `properties`.
        """
        confluent = _dictionary({"bootstrap.servers": bootstrap, **self.librdkafka()})
        kafka_python = _dictionary({"bootstrap_servers": bootstrap, **self.kafka_python()})
        aiokafka = _dictionary({"bootstrap_servers": bootstrap, **self._python()})
        return {
            "with_confluent_kafka.py": _CONFLUENT.format(settings=confluent),
            "with_kafka_python.py": _KAFKA_PYTHON.format(settings=kafka_python),
            "with_aiokafka.py": _AIOKAFKA.format(settings=aiokafka, authority=str(self.authority)),
            "WithJava.java": _JAVA.format(properties=properties),
        }


def librdkafka(login: ClientLogin | None) -> dict[str, str]:
    """Return the settings of librdkafka; none without a login."""
    return {} if login is None else login.librdkafka()


def kafka_python(login: ClientLogin | None) -> dict[str, str]:
    """Return the arguments of kafka-python's clients; none without a login."""
    return {} if login is None else login.kafka_python()


def _dictionary(settings: dict[str, str]) -> str:
    lines = "".join(f"    {name!r}: {value!r},\n" for name, value in settings.items())
    return f"{{\n{lines}}}"


_CONFLUENT = """\
# Has a password. Written by `barnabas up` at every start.
from confluent_kafka import Producer

settings = {settings}

if __name__ == "__main__":
    producer = Producer(settings)
    producer.produce("first", b"hello", on_delivery=lambda error, record: print(error or record.offset()))
    producer.flush()
"""

_KAFKA_PYTHON = """\
# Has a password. Written by `barnabas up` at every start.
from kafka import KafkaProducer

settings = {settings}

if __name__ == "__main__":
    producer = KafkaProducer(**settings)
    print(producer.send("first", b"hello").get(60).offset)
    producer.close()
"""

_AIOKAFKA = """\
# Has a password. Written by `barnabas up` at every start.
import asyncio

from aiokafka import AIOKafkaProducer
from aiokafka.helpers import create_ssl_context

settings = {settings}


async def main():
    context = create_ssl_context(cafile={authority!r})
    async with AIOKafkaProducer(**settings, ssl_context=context) as producer:
        print((await producer.send_and_wait("first", b"hello")).offset)


if __name__ == "__main__":
    asyncio.run(main())
"""

_JAVA = """\
// The login is in {properties}.
import java.io.FileReader;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class WithJava {{
    public static void main(String[] arguments) throws Exception {{
        Properties settings = new Properties();
        settings.load(new FileReader("{properties}"));
        var text = new StringSerializer();
        try (var producer = new KafkaProducer<>(settings, text, text)) {{
            System.out.println(producer.send(new ProducerRecord<>("first", "hello")).get().offset());
        }}
    }}
}}
"""
