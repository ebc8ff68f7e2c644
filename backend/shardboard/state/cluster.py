"""The one row that describes this cluster, and the counters that every write goes through."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Mapped, mapped_column

from shardboard.db import Base, UtcDateTime
from shardboard.domain.cluster_settings import ClusterSettings
from shardboard.domain.policy import NAMES, Policy
from shardboard.encrypted import Encrypted, EncryptedJson

_BOTH = frozenset(name for name in NAMES if name.startswith("slave_ha"))


class Cluster(Base):
    """`config` and `policy` hold what was changed from the defaults; ask `settings` and `rules` for what is in force."""

    __tablename__ = "cluster"
    __kind__ = "cluster"

    uid: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    created_at: Mapped[datetime] = mapped_column(UtcDateTime)
    bootstrap_state: Mapped[str]
    """`idle` until create_cluster, the first sign-in or the first node, then `completed`. Always `completed` with a configured
    administrator."""
    jwt_secret: Mapped[str] = mapped_column(Encrypted("cluster.jwt_secret"))
    audit_key: Mapped[str | None] = mapped_column(Encrypted("cluster.audit_key"))
    """Seals the audit trail. None until the first console of a release that keeps one."""
    oidc: Mapped[dict[str, Any] | None] = mapped_column(EncryptedJson("cluster.oidc"), default=None)
    """The provider of single sign-on (`domain/oidc.py`), with its secret; None: there is none."""
    ldap: Mapped[dict[str, Any] | None] = mapped_column(EncryptedJson("cluster.ldap"), default=None)
    """The directory that people log in by (`domain/ldap.py`), with the password that it is searched with; None: there is none."""
    config: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    policy: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    next_bdb_uid: Mapped[int] = mapped_column(default=1)
    next_shard_uid: Mapped[int] = mapped_column(default=1)
    next_node_uid: Mapped[int] = mapped_column(default=1)

    @property
    def settings(self) -> ClusterSettings:
        """The settings of the cluster object."""
        return ClusterSettings.of(self.config)

    @property
    def rules(self) -> Policy:
        """The policy. The reference knows some of it both as settings and as policy; the policy comes first."""
        return Policy.of({**{name: self.config[name] for name in self.config.keys() & _BOTH}, **self.policy})


def changed_rules(cluster: Cluster) -> set[str]:
    """Names of the policy's rules that somebody has changed, here or among the settings."""
    return {*cluster.policy, *(cluster.config.keys() & _BOTH)}


async def load(session: AsyncSession) -> Cluster:
    """The cluster row; it exists from the first start of the console on."""
    return (await session.execute(select(Cluster))).scalar_one()


async def mark_created(session: AsyncSession) -> None:
    """Record that the cluster exists, after which bootstrap is refused."""
    if (await load(session)).bootstrap_state == "idle":
        (await load_for_update(session)).bootstrap_state = "completed"


async def load_for_update(session: AsyncSession) -> Cluster:
    """The row, locked until the transaction ends: who allocates uids or ports, or orders an action, holds this lock."""
    locked = select(Cluster).with_for_update().execution_options(populate_existing=True)
    cluster = (await session.execute(locked)).scalar_one()
    session.info["locked"] = True
    return cluster
