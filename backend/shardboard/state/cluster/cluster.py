"""The row that describes this cluster, and the uid counters."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.domain.benchmarks.cost_model import CostModel
from shardboard.domain.cluster.cluster_settings import ClusterSettings
from shardboard.domain.cluster.node_status import BootstrapPhase
from shardboard.domain.cluster.policy import NAMES, Policy
from shardboard.store.db import Base, UtcDateTime
from shardboard.store.encrypted_columns import EncryptedJson, EncryptedText

_REPLICA_HA_NAMES = frozenset(name for name in NAMES if name.startswith("slave_ha"))


class Cluster(Base):
    """`config` and `policy` contain changes from the defaults; use `settings` and `rules` for the effective values."""

    __tablename__ = "cluster"
    __kind__ = "cluster"

    uid: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    bootstrap_state: Mapped[str]
    """`idle` until create_cluster, the first sign-in or the first node, then `completed`. Always `completed` with a configured
    administrator."""
    jwt_secret: Mapped[str] = mapped_column(EncryptedText("cluster.jwt_secret"))
    audit_key: Mapped[str | None] = mapped_column(EncryptedText("cluster.audit_key"))
    """Key that seals the audit log. None before the first start of a console whose release has an audit log."""
    oidc: Mapped[dict[str, Any] | None] = mapped_column(EncryptedJson("cluster.oidc"), default=None)
    """Configuration of the single sign-on provider (`domain/access/oidc.py`), with its secret; None if it is not configured."""
    ldap: Mapped[dict[str, Any] | None] = mapped_column(EncryptedJson("cluster.ldap"), default=None)
    """Configuration of the LDAP directory (`domain/access/ldap.py`), with the bind password; None if it is not configured."""
    config: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    policy: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    cost_model: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True), default=None)
    """Prices (`domain.benchmarks.cost_model`); None until they are set."""
    next_bdb_uid: Mapped[int] = mapped_column(default=1)
    next_shard_uid: Mapped[int] = mapped_column(default=1)
    next_node_uid: Mapped[int] = mapped_column(default=1)

    @property
    def settings(self) -> ClusterSettings:
        """Settings of the cluster object."""
        return ClusterSettings.from_stored(self.config)

    @property
    def prices(self) -> CostModel | None:
        """The cost model; None until prices are set."""
        return None if self.cost_model is None else CostModel(**self.cost_model)

    @property
    def rules(self) -> Policy:
        """The policy. The reference has some settings both in the cluster object and in the policy; the policy takes precedence."""
        return Policy.from_stored(
            {**{name: self.config[name] for name in self.config.keys() & _REPLICA_HA_NAMES}, **self.policy}
        )


def changed_rules(cluster: Cluster) -> set[str]:
    """Return names of policy settings that were changed, either in the policy or in the cluster object."""
    return {*cluster.policy, *(cluster.config.keys() & _REPLICA_HA_NAMES)}


async def load(session: AsyncSession) -> Cluster:
    """Return the cluster row, which exists from the first start of the console on."""
    return (await session.execute(select(Cluster))).scalar_one()


async def mark_created(session: AsyncSession) -> None:
    """Record that the cluster exists, after which bootstrap is refused."""
    if (await load(session)).bootstrap_state == BootstrapPhase.IDLE:
        (await load_for_update(session)).bootstrap_state = BootstrapPhase.COMPLETED


async def load_for_update(session: AsyncSession) -> Cluster:
    """Return the row, locked until the transaction ends. This lock is required to allocate uids or ports and to request actions."""
    query = select(Cluster).with_for_update().execution_options(populate_existing=True)
    cluster = (await session.execute(query)).scalar_one()
    session.info["locked"] = True
    return cluster
