"""Components of the running console, available to handlers as `request.app.state.console`."""

import asyncio
from dataclasses import dataclass, field

from shardboard.agents_trust import AgentsTrust
from shardboard.authority import Authority
from shardboard.bus import Bus
from shardboard.collectors.commands import CommandLooks
from shardboard.collectors.courier import Courier
from shardboard.collectors.hot_slots import SlotLooks
from shardboard.collectors.live import Live
from shardboard.collectors.node_logs import NodeLogReader
from shardboard.collectors.notifier import Notifier
from shardboard.collectors.ram_curves import RamCurves
from shardboard.collectors.shard_looks import ShardLooks
from shardboard.db import Store
from shardboard.driver.hooks import HttpHooks
from shardboard.driver.ldap import LdapClient
from shardboard.driver.mails import SmtpMails
from shardboard.driver.oidc import OidcClient
from shardboard.driver.ports import Agents, Hooks
from shardboard.driver.syslog import SyslogSender
from shardboard.ownership import Ownership
from shardboard.server_certificate import ServerCertificate
from shardboard.settings import Settings


@dataclass
class Console:
    """Built by `app.py`, or by tests with fakes instead of machines."""

    settings: Settings
    store: Store
    bus: Bus
    live: Live
    agents: Agents
    authority: Authority
    instance: str
    """Identifies this console across restarts."""
    ownership: Ownership
    certificate: ServerCertificate = field(init=False)
    hooks: Hooks = field(default_factory=HttpHooks)
    oidc: OidcClient = field(default_factory=OidcClient)
    ldap: LdapClient = field(default_factory=LdapClient)
    trust: AgentsTrust = field(init=False)
    notifier: Notifier = field(init=False)
    slot_looks: SlotLooks = field(init=False)
    command_looks: CommandLooks = field(init=False)
    ram_curves: RamCurves = field(init=False)
    shard_looks: ShardLooks = field(init=False)
    node_logs: NodeLogReader = field(init=False)
    bundling: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Limits support bundles to one at a time: each uses disk space and load on all agents."""
    auditing: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Limits checks of the audit log to one at a time: each reads the complete log."""

    def __post_init__(self) -> None:
        self.certificate = ServerCertificate(self.authority, self.settings)
        self.trust = AgentsTrust(self.store, self.agents, self.authority)
        mails = SmtpMails(self.settings.smtp_password_file)
        self.notifier = Notifier(self.store, self.bus, Courier(self.hooks, mails, SyslogSender()))
        self.slot_looks = SlotLooks(self.store, self.agents)
        self.command_looks = CommandLooks(self.store, self.agents)
        self.shard_looks = ShardLooks(self.store, self.agents)
        self.node_logs = NodeLogReader(self.store, self.agents)
        self.ram_curves = RamCurves(
            self.store, self.agents, lambda bdb, shard: self.live.latest(f"flash_shards:{bdb}", str(shard))
        )
