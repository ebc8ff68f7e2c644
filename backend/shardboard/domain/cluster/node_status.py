"""States of a node: of its machine, of its agent, and its duty."""

from enum import StrEnum


class NodeHealth(StrEnum):
    """State of the machine, not of the agent: down if its shards do not respond to any witness."""

    UP = "up"
    DOWN = "down"


class AgentStatus(StrEnum):
    """State of the agent only; its shards may be up."""

    CONNECTED = "connected"
    LOST = "lost"


class NodeDuty(StrEnum):
    """Why a node gets no shards."""

    IN_SERVICE = ""
    MAINTENANCE = "maintenance"
    REMOVAL = "removal"


class NodeState(StrEnum):
    """Status of a node in the API, derived from its health and duty."""

    ACTIVE = "active"
    DECOMMISSIONING = "decommissioning"
    DOWN = "down"


class BootstrapPhase(StrEnum):
    """Whether the cluster was created."""

    IDLE = "idle"
    COMPLETED = "completed"
