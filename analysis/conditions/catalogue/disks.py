"""Conditions of log directories and of what is in them.

Source: ``LogManager.scala``, ``LogLoader.scala``, ``Log.scala``, ``LogCleaner.scala`` and
``ReplicaManager.scala`` of 0.8 to 3.8; ``BrokerMetadataCheckpoint.scala``, ``MetaPropertiesEnsemble.java``;
the texts of errors are those of the JDK and the operating system.
"""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown, Sign
from barnabas.analysis.reading.events.broker_kinds import BrokerKind

DISKS = (
    Condition(
        key="disk-full",
        headline="A disk of {broker} is full.",
        means="A write failed for lack of space; the log directory goes offline, and before 1.0 the broker.",
        source="KIP-112; java.io.IOException: No space left on device",
        advice="Free space or lower retention of the largest topics, then restart the broker.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"No space left on device|There is not enough space on the disk"),),
    ),
    Condition(
        key="disk-read-only",
        headline="A disk of {broker} became read-only.",
        means="The operating system found errors in the file system and allows no more writes.",
        source="KIP-112; java.io.IOException: Read-only file system",
        advice="Read the kernel's log, repair or replace the disk, then restart the broker.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"Read-only file system"),),
    ),
    Condition(
        key="disk-io-error",
        headline="A disk of {broker} gives input/output errors.",
        means="The operating system could not read or write the disk.",
        source="KIP-112; java.io.IOException: Input/output error",
        advice="Read the kernel's log and replace the disk; the replicas are copied from their leaders.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"Input/output error"),),
    ),
    Condition(
        key="too-many-open-files",
        headline="{broker} has reached its limit of open files.",
        means="Each segment and connection needs a file descriptor, and the process may open no more.",
        source="java.io.IOException: Too many open files",
        advice="Raise the limit (ulimit -n, LimitNOFILE) to 100,000 or more, and restart the broker.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"Too many open files"),),
    ),
    Condition(
        key="memory-maps-exhausted",
        headline="{broker} has reached its limit of memory maps.",
        means="Each segment maps its indexes, and the process may map no more.",
        source="java.io.IOException: Map failed; vm.max_map_count",
        advice="Raise vm.max_map_count (262,144 or more), and restart the broker.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"java\.(?:io\.IOException|lang\.OutOfMemoryError): Map failed"),),
    ),
    Condition(
        key="wrong-cluster-id",
        headline="{broker} has the disks of another cluster: the cluster id in meta.properties differs.",
        means="The broker refuses to join a cluster that its log directories do not belong to.",
        source="KAFKA-7335; InconsistentClusterIdException",
        advice="Check zookeeper.connect or the voters; delete meta.properties only if the data may go, too.",
        alarm=Alarm.NOW,
        signs=(
            Sign(anywhere=r"InconsistentClusterIdException|Invalid cluster\.id in: \S+"),
            Sign(r"Unexpected error (?P<error>INCONSISTENT_CLUSTER_ID) in .*"),
        ),
        kinds=(Shown(BrokerKind.REGISTRATION_REFUSED, ("INCONSISTENT_CLUSTER_ID",)),),
    ),
    Condition(
        key="wrong-broker-id",
        headline="{broker} has the disks of another broker: the id in meta.properties differs.",
        means="The configured id is not the one that the log directories were written with.",
        source="KAFKA-1070; InconsistentBrokerIdException",
        advice="Set broker.id or node.id to the stored one, or give the process its own disks.",
        alarm=Alarm.NOW,
        signs=(
            Sign(anywhere=r"Inconsistent(?:BrokerId|BrokerMetadata)Exception"),
            Sign(anywhere=r"Stored node id \d+ doesn't match previous node id \d+"),
        ),
    ),
    Condition(
        key="storage-unformatted",
        headline="{broker} cannot start: its log directories are not formatted.",
        means="KRaft needs a meta.properties that kafka-storage.sh writes; a lost disk has none, either.",
        source="KIP-785, KIP-631; MetaPropertiesEnsemble",
        advice="Run kafka-storage.sh format with the cluster's own id, or mount the right disk.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"No (?:`meta\.properties` found in|readable meta\.properties files found)"),),
    ),
    Condition(
        key="directory-locked",
        headline="Another process uses the log directories of {broker}.",
        means="The lock file is held, so a second broker runs on the same disk.",
        source="LogManager.lockLogDirs",
        advice="Stop the other process, often the former one that has not ended yet.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"Failed to acquire lock on file \.lock in \S+"),),
    ),
    Condition(
        key="permission-denied",
        headline="{broker} may not read or write its files.",
        means="The files belong to another user, often after a start as root.",
        source="java.nio.file.AccessDeniedException",
        advice="Give the files back to the user that runs the broker, and restart it.",
        alarm=Alarm.NOW,
        signs=(Sign(anywhere=r"AccessDeniedException|\(Permission denied\)"),),
    ),
    Condition(
        key="all-directories-failed",
        headline="{broker} halted: all its log directories failed.",
        means="Without a log directory the broker cannot serve, so it ends at once.",
        source="KIP-112; LogManager.handleLogDirFailure",
        advice="Replace the disks; the replicas are copied from their leaders after the start.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.DIED, ("all log dirs in", "none of the specified log dirs")),),
    ),
    Condition(
        key="directory-failed",
        headline="A log directory of {broker} failed: its replicas there are offline.",
        means="An error of a file took the directory offline; the broker goes on with the others.",
        source="KIP-112, KIP-858; LogDirFailureChannel",
        advice="Find the error of the disk above this line, replace the disk, and restart the broker.",
        alarm=Alarm.NOW,
        signs=(
            Sign(r"Stopping serving (?:replicas|logs) in dir (?P<error>\S+).*"),
            Sign(r"Partitions .* are offline due to failure on log directory (?P<error>.*)"),
            Sign(r"Logs for partitions .* are offline .*due to failure on log directory (?P<error>.*)"),
            Sign(r"Error while .* in (?:log )?dir(?:ectory)? (?P<error>\S+).*", ("LogDirFailureChannel",)),
            Sign(r"Handling log directory failure for brokers (?P<subject>\d+).*"),
            Sign(r"Directories \S+ in broker (?P<subject>\d+) marked offline, .*"),
            Sign(r"log directory taken offline directory=(?P<error>\S+).*"),
        ),
    ),
    Condition(
        key="log-corrupt",
        headline="{broker} cut damaged records from its log at the start.",
        means="The end of a segment was not written whole, so its bytes are lost on this disk.",
        source="Log.recoverLog, LogSegment.recover",
        advice="Nothing if other replicas are in sync; look at the disk if it repeats.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Corruption found in segment \d+(?: of log (?P<tp>\S+))?, truncating to offset \d+\.?"),
            Sign(r"Found invalid offset during recovery.*"),
        ),
    ),
    Condition(
        key="index-corrupt",
        headline="{broker} rebuilds damaged indexes.",
        means="An index does not fit its segment; it is made again from the records, which are kept.",
        source="LogSegment.sanityCheck",
        advice="Nothing; the start takes longer.",
        alarm=Alarm.NOBODY,
        signs=(
            Sign(r"Found a corrupted index.*"),
            Sign(r"Could not find (?:offset )?index file corresponding to log file .*"),
        ),
    ),
    Condition(
        key="unclean-start",
        headline="{broker} started after a stop that was not clean, and recovers its logs.",
        means="No clean shutdown file was found, so the process before was killed, crashed or lost its host.",
        source="LogManager.loadLogs, .kafka_cleanshutdown",
        advice="Wait for the recovery (num.recovery.threads.per.data.dir), and find out why it ended.",
        alarm=Alarm.SOON,
        kinds=(Shown(BrokerKind.PREVIOUS_STOP_UNCLEAN),),
    ),
    Condition(
        key="identity-missing",
        headline="{broker} found no meta.properties in a log directory: it is new, or its disk was lost.",
        means="The file holds the ids of broker and cluster; without it a generated id is a new one.",
        source="KAFKA-1070; BrokerMetadataCheckpoint",
        advice="Nothing at a first start; else mount the right disk, or set broker.id to the former id.",
        alarm=Alarm.NOBODY,
        signs=(Sign(r"No meta\.properties file (?:under dir|found in) .*"),),
    ),
    Condition(
        key="stray-replicas",
        headline="{broker} has logs on disk that the cluster no longer assigns to it.",
        means="The topic was deleted or the replica moved while the broker was away.",
        source="KAFKA-12480, KAFKA-14616; LogManager.isStrayKraftReplica",
        advice="Delete the folders that end in -stray when nobody needs their records.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Found stray (?:log dir|partitions) .*"),
            Sign(r"Loaded stray log: .*"),
            Sign(r"Log for partition (?P<tp>\S+) is marked as stray and renamed to .*"),
            Sign(r"Log in \S+ marked stray and renamed to .*"),
        ),
    ),
    Condition(
        key="cleaner-died",
        headline="The log cleaner of {broker} died or gave up {partitions}: compacted topics grow.",
        means="Compaction stops, so __consumer_offsets and other compacted topics fill the disk.",
        source="KAFKA-3894, KIP-346; LogCleaner",
        advice="Cure the error and restart the broker; upgrade to 2.1 or later, which skips bad partitions.",
        alarm=Alarm.SOON,
        signs=(
            Sign(r"Error due to.*", ("LogCleaner", "LogCleaner$CleanerThread")),
            Sign(
                r"Unexpected exception thrown when cleaning log .*\. Marking its partition "
                r"\((?P<tp>\S+)\) as uncleanable"
            ),
        ),
    ),
)
