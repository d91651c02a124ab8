"""Conditions of a broker's process: its start, its stop, its memory, its network.

Source: ``KafkaServer.scala``, ``Kafka.scala``, ``SocketServer.scala``, ``KafkaRequestHandler.scala``,
``KafkaScheduler.scala`` and ``ShutdownableThread.scala`` of 0.8 to 3.8; the texts of errors are the JDK's.
"""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown, Sign
from barnabas.analysis.reading.events.broker_kinds import BrokerKind

_STARTERS = (
    "Kafka$",
    "KafkaServer",
    "KafkaServerStartable",
    "KafkaRaftServer",
    "BrokerServer",
    "ControllerServer",
)

PROCESS = (
    Condition(
        key="out-of-memory",
        headline="{broker} ran out of memory.",
        means="A thread died by OutOfMemoryError; the process may go on half dead.",
        source="java.lang.OutOfMemoryError",
        advice="Restart the broker with more heap (KAFKA_HEAP_OPTS) and -XX:+ExitOnOutOfMemoryError.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"java\.lang\.OutOfMemoryError"),),
        kinds=(Shown(BrokerKind.ENDED_AT_ONCE, ("out of memory",)),),
    ),
    Condition(
        key="jvm-crash",
        headline="The Java VM of {broker} crashed, or the kernel killed it.",
        means="The process ended at once and closed no log.",
        source="HotSpot's hs_err_pid file, the kernel's log",
        advice="Read the hs_err_pid file or the kernel's log; expect a recovery of logs at the start.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.ENDED_AT_ONCE),),
    ),
    Condition(
        key="port-taken",
        headline="{broker} cannot start: a port that it needs is taken.",
        means="Another process listens on the port of a listener or of JMX, often the former broker.",
        source="SocketServer.openServerSocket, java.net.BindException",
        advice="Find the process with ss -ltnp, and stop it or change listeners.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"Address already in use|Socket server failed to bind to \S+"),),
    ),
    Condition(
        key="host-unresolved",
        headline="{broker} cannot resolve the name of a host that it needs.",
        means="The name service has no address for a broker, a ZooKeeper server or a listener's host.",
        source="java.net.UnknownHostException, advertised.listeners",
        advice="Check the name in advertised.listeners, zookeeper.connect or the voters, and the DNS.",
        alarm=Alarm.NOW,
        signs=(
            Sign(
                anywhere=r"UnknownHostException|UnresolvedAddressException|No resolvable bootstrap urls"
                r"|Couldn't resolve server"
            ),
        ),
    ),
    Condition(
        key="invalid-configuration",
        headline="{broker} cannot start: a setting is invalid.",
        means="The configuration was refused before anything was opened.",
        source="KafkaConfig, ConfigException",
        advice="Correct the setting that the error names.",
        alarm=Alarm.NOW,
        signs=(
            Sign(
                anywhere=r"ConfigException: .*|IllegalArgumentException: requirement failed: .*",
                loggers=_STARTERS,
            ),
        ),
    ),
    Condition(
        key="start-failed",
        headline="{broker} failed to start.",
        means="A fatal error ended the start; the error names its cause.",
        source="KafkaServer.startup, KafkaRaftServer",
        advice="Cure the cause that the error names, and start the broker again.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.START_FAILED),),
    ),
    Condition(
        key="halted",
        headline="{broker} halted itself after a fatal error.",
        means="The process ends at once, without a controlled shutdown.",
        source="Exit.halt, ProcessTerminatingFaultHandler",
        advice="Cure the error before the broker is started again.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.DIED),),
    ),
    Condition(
        key="thread-died",
        headline="A thread of {broker} died by an exception.",
        means="Nothing starts the thread again, so its work is not done until a restart.",
        source="KafkaThread, ShutdownableThread",
        advice="Restart the broker, and report the exception if no known issue has it.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.THREAD_DIED),),
    ),
    Condition(
        key="task-failed",
        headline="A scheduled task of {broker} failed.",
        means="A task such as isr-expiration or kafka-log-retention did not do its work this time.",
        source="KafkaScheduler",
        advice="Read the exception; before 2.0 some tasks are not run again until a restart.",
        alarm=Alarm.SOON,
        signs=(Sign(r"Uncaught exception in scheduled task '.*'"),),
    ),
    Condition(
        key="stop-signalled",
        headline="{broker} was stopped by a signal.",
        means="An operator, a service manager or a container's runtime asked the process to end.",
        source="LoggingSignalHandler (1.0 on)",
        advice="Nothing if it was planned.",
        alarm=Alarm.NOBODY,
        kinds=(Shown(BrokerKind.STOP_SIGNALLED),),
    ),
    Condition(
        key="controller-part-stopped",
        headline="{broker} stopped its controller's thread, as every broker does in an orderly stop.",
        means="The thread ends only when the process shuts down.",
        source="ControllerEventManager.close",
        advice="Nothing if the stop was planned.",
        alarm=Alarm.NOBODY,
        signs=(Sign(r"Shutting down", ("ControllerEventManager$ControllerEventThread",)),),
    ),
)
