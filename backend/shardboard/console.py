"""Components of the running console, available to handlers as `request.app.state.console`."""

import asyncio
import socket
from dataclasses import dataclass, field

from shardboard import __version__
from shardboard.collectors.alerting.delivery import DeliveryClient
from shardboard.collectors.alerting.notifier import Notifier
from shardboard.collectors.benchmarks.key_samples import KeySampleCache
from shardboard.collectors.cluster.action_waits import ActionWaits
from shardboard.collectors.cluster.consoles import ConsoleFacts, ConsolePresence
from shardboard.collectors.cluster.logs import NodeLogReader
from shardboard.collectors.data.location_access import LocationAccess
from shardboard.collectors.data.location_files import LocationFiles
from shardboard.collectors.data.request_transfers import RequestTransfers
from shardboard.collectors.databases.engine_diagnostics import ShardQueryCache
from shardboard.collectors.metrics.command_stats import CommandCountCache
from shardboard.collectors.metrics.hot_slots import HotSlotCache
from shardboard.collectors.metrics.live_metrics import LiveMetrics
from shardboard.collectors.metrics.ram_curve import RamCurveCache
from shardboard.collectors.pulse import Pulses
from shardboard.driver.interfaces import Agents, Hooks
from shardboard.driver.ldap import LdapClient
from shardboard.driver.mails import SmtpMails
from shardboard.driver.oidc import OidcClient
from shardboard.driver.syslog import SyslogSender
from shardboard.driver.webhooks import HttpHooks
from shardboard.kit.bus import Bus
from shardboard.lifecycle.leadership import Leadership
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.server_certificate import ServerCertificate
from shardboard.reconcilers.cluster.console_certificates import ConsoleCertificatesLoop
from shardboard.reconcilers.cluster.trust_distribution import TrustDistribution
from shardboard.settings import Settings
from shardboard.store.db import Store


@dataclass
class Console:
    """Built by `app.py`, or by tests with fakes instead of machines."""

    settings: Settings
    store: Store
    bus: Bus
    live: LiveMetrics
    agents: Agents
    ca: ConsoleCa
    id: str
    """Identifies this console across restarts."""
    leadership: Leadership
    certificate: ServerCertificate = field(init=False)
    hooks: Hooks = field(default_factory=HttpHooks)
    oidc: OidcClient = field(default_factory=OidcClient)
    ldap: LdapClient = field(default_factory=LdapClient)
    certificate_loop: ConsoleCertificatesLoop = field(init=False)
    pulses: Pulses = field(default_factory=Pulses)
    presence: ConsolePresence = field(init=False)
    trust: TrustDistribution = field(init=False)
    notifier: Notifier = field(init=False)
    hot_slot_cache: HotSlotCache = field(init=False)
    command_count_cache: CommandCountCache = field(init=False)
    ram_curve_cache: RamCurveCache = field(init=False)
    shard_query_cache: ShardQueryCache = field(init=False)
    key_sample_cache: KeySampleCache = field(init=False)
    action_waits: ActionWaits = field(init=False)
    locations: LocationAccess = field(init=False)
    location_files: LocationFiles = field(init=False)
    node_logs: NodeLogReader = field(init=False)
    bundle_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Limits support bundles to one at a time: each uses disk space and load on all agents."""
    audit_check_lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Limits checks of the audit log to one at a time: each reads the complete log."""

    def __post_init__(self) -> None:
        self.certificate = ServerCertificate(self.ca, self.settings)
        self.certificate_loop = ConsoleCertificatesLoop(self.store, self.bus, self.ca, self.certificate)
        host = socket.gethostname()
        address = self.settings.advertise_url or f"https://{host}:{self.settings.https_port}"
        facts = ConsoleFacts(self.id, host, address, __version__)
        self.presence = ConsolePresence(
            self.store, facts, lambda: self.leadership.store_delay, self.pulses.count_reached
        )
        self.trust = TrustDistribution(self.store, self.agents, self.ca)
        mails = SmtpMails(self.settings.smtp_password_file)
        self.notifier = Notifier(self.store, self.bus, DeliveryClient(self.hooks, mails, SyslogSender()))
        self.hot_slot_cache = HotSlotCache(self.store, self.agents)
        self.command_count_cache = CommandCountCache(self.store, self.agents)
        self.shard_query_cache = ShardQueryCache(self.store, self.agents)
        self.key_sample_cache = KeySampleCache(self.store, self.agents)
        self.action_waits = ActionWaits(self.store, self.bus)
        self.locations = LocationAccess(RequestTransfers(self.store, self.agents))
        self.location_files = LocationFiles(self.store, self.agents)
        self.node_logs = NodeLogReader(self.store, self.agents)
        self.ram_curve_cache = RamCurveCache(
            self.store, self.agents, lambda bdb, shard: self.live.latest(f"flash_shards:{bdb}", str(shard))
        )
