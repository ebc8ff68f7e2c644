"""Certificates that somebody replaces: those of databases before their time, and that of the console's ports."""

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard import shard_certificates
from shardboard.domain.numerals import plural
from shardboard.server_certificate import Identity
from shardboard.services.users import Principal
from shardboard.shard_certificates import ShardCertificates
from shardboard.state import bdbs, events
from shardboard.state import cluster as clusters


async def replace_authorities(session: AsyncSession, principal: Principal) -> int:
    """Another authority for every encrypted database, step by step. How many there are."""
    await clusters.load_for_update(session)
    count = shard_certificates.replace_authorities(await bdbs.every(session))
    told = f"New authorities for the shards of {plural(count, 'database')} were ordered."
    events.record(session, "certificates_rotated", told, source="cluster", originator=principal.username)
    return count


async def rotate(session: AsyncSession, principal: Principal) -> int:
    """Another certificate for every encrypted database; a loop brings them to the shards. How many there are."""
    await clusters.load_for_update(session)
    count = 0
    for bdb in await bdbs.every(session):
        if bdb.shard_certificates is not None:
            bdb.shard_certificates = ShardCertificates.read(bdb.shard_certificates).renewed().stored()
            count += 1
    told = f"New certificates for the shards of {plural(count, 'database')} were ordered."
    events.record(session, "certificates_rotated", told, source="cluster", originator=principal.username)
    return count


def record_installation(session: AsyncSession, identity: Identity, principal: Principal) -> None:
    """That the console's ports show another certificate."""
    told = (
        f"A certificate for {', '.join(identity.names)} was installed; it holds until {identity.ends:%Y-%m-%d}. "
        f"SHA-256 {identity.fingerprint}."
    )
    events.record(session, "certificate_installed", told, source="cluster", originator=principal.username)


def record_removal(session: AsyncSession, principal: Principal) -> None:
    """That the console's ports show the own certificate again."""
    told = "The installed certificate was removed; the console shows its own again."
    events.record(session, "certificate_removed", told, source="cluster", originator=principal.username)
