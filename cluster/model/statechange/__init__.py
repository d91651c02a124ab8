"""The lines of state-change.log that release 2.8 writes, as data.

To write: build a ``StateChange`` through ``ControllerLines(controller_id, epoch)``,
``BrokerLines(broker_id)`` or ``RequestLines(broker_id, controller_id, controller_epoch, correlation_id)``,
which have one method for each line. A ``StateChange`` has a ``level``, a ``message`` and an ``entry(time)``.
To read a line: ``read_message(text)``. ``analysis.reading`` also reads the lines of other releases.
"""

from barnabas.cluster.model.statechange.broker_lines import BrokerLines, RequestLines
from barnabas.cluster.model.statechange.controller_lines import ControllerLines
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.leadership import Leadership
from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.model.statechange.line import LOGGER, StateChange
from barnabas.cluster.model.statechange.reader import Message, read_message
from barnabas.cluster.model.statechange.template import Speaker

__all__ = [
    "LOGGER",
    "BrokerLines",
    "ControllerLines",
    "Kind",
    "Leadership",
    "Level",
    "Message",
    "RequestLines",
    "Speaker",
    "StateChange",
    "read_message",
]
