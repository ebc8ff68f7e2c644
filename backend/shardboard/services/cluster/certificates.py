"""Certificates that an administrator replaces: those of databases before they expire, and that of the console's ports."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.domain.text import plural
from shardboard.pki import shard_certificates
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.server_certificate import ServerIdentity
from shardboard.pki.shard_certificates import ShardCertificates
from shardboard.services.access.authorization import Principal
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import console_certificates as certificates
from shardboard.state.databases import bdbs


async def replace_cas(session: AsyncSession, principal: Principal) -> int:
    """Request a new CA for each encrypted database, introduced step by step. Returns the number of these databases."""
    await clusters.load_for_update(session)
    count = shard_certificates.replace_cas(await bdbs.list_all(session))
    message = f"New CAs for the shards of {plural(count, 'database')} were requested."
    events.record(session, "certificates_rotated", message, source="cluster", originator=principal.username)
    return count


async def rotate(session: AsyncSession, principal: Principal) -> int:
    """Request a new certificate for each encrypted database; a loop deploys them. Returns the number of these databases."""
    await clusters.load_for_update(session)
    count = 0
    for bdb in await bdbs.list_all(session):
        if bdb.shard_certificates is not None:
            bdb.shard_certificates = ShardCertificates.read(bdb.shard_certificates).with_new_certificate().stored()
            count += 1
    message = f"New certificates for the shards of {plural(count, 'database')} were requested."
    events.record(session, "certificates_rotated", message, source="cluster", originator=principal.username)
    return count


async def install(session: AsyncSession, ca: ConsoleCa, identity: ServerIdentity, principal: Principal) -> None:
    """Serve this certificate at the ports of all consoles."""
    await clusters.load_for_update(session)
    state = await certificates.refresh(session, ca)
    await certificates.replace(session, ca, state.installing(identity.stored()))
    message = (
        f"A certificate for {', '.join(identity.names)} was installed; it is valid until {identity.valid_until:%Y-%m-%d}. "
        f"SHA-256 {identity.fingerprint}."
    )
    events.record(session, "certificate_installed", message, source="cluster", originator=principal.username)


async def remove(session: AsyncSession, ca: ConsoleCa, principal: Principal) -> None:
    """Serve each console's own certificate at its ports again."""
    await clusters.load_for_update(session)
    state = await certificates.refresh(session, ca)
    await certificates.replace(session, ca, state.installing(None))
    message = "The installed certificate was removed; the console serves its own certificate again."
    events.record(session, "certificate_removed", message, source="cluster", originator=principal.username)
