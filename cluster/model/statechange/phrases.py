"""Parts of broker lines that rows of several releases share.

Source: ``ReplicaManager.scala``, ``Partition.scala``. The tables of this release and of the others
(``analysis.reading.releases``) build their templates from them.
"""

from __future__ import annotations

BY = "controller <controller> epoch <controller_epoch>"
IGNORING = "Ignoring LeaderAndIsr request from controller <controller> with correlation id <correlation_id> "
IGNORING_ONE = IGNORING + "epoch <controller_epoch> for partition <tp> "
LAST_UPDATE = " (last update controller epoch <last_controller_epoch>)"
SKIPPED_LEADER = (
    "Skipped the become-leader state change after marking its partition as leader with correlation id "
    f"<correlation_id> from {BY} for partition <tp>"
)
SKIPPED_FOLLOWER = (
    "Skipped the become-follower state change after marking its partition as follower with correlation id "
    f"<correlation_id> from {BY} for partition <tp>"
)
OFFLINE = " since the replica for the partition is offline due to <medium:word> error <error>"
UNAVAILABLE = " but cannot become follower since the new leader <leader> is unavailable."
HANDLING = f"Handling LeaderAndIsr request correlationId <correlation_id> from {BY} starting the "
COMPLETED = f"Completed LeaderAndIsr request correlationId <correlation_id> from {BY} for the "
PREVIOUS = "Previous leader epoch was <previous_leader_epoch>."
STALE = "Latest known controller epoch is <latest_controller_epoch>"
SENT_BY = (
    "in response to UpdateMetadata request sent by controller <controller> epoch <controller_epoch> with "
    "correlation id <correlation_id>"
)
