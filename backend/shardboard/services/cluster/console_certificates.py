"""The certificates that the consoles of a store share, at the start of a console: the first one creates them, or imports the files
of an earlier release.
"""

from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncSession

from shardboard.pki.certificate_state import CertificateState
from shardboard.pki.imported_files import ImportedFiles
from shardboard.state.alerting import events
from shardboard.state.cluster import cluster as clusters
from shardboard.state.cluster import console_certificates as certificates
from shardboard.state.cluster import nodes
from shardboard.store.db import Store


async def load_or_create(store: Store, directory: Path) -> CertificateState:
    """Return the certificates of the store. `directory` is the one in which earlier releases kept them. Raises OSError, and
    ValueError if there is no CA that the agents trust.
    """
    files = ImportedFiles(directory)
    async with store.begin() as session:
        await clusters.load_for_update(session)  # another console may be starting
        state = await certificates.find(session)
        if state is None:
            state = files.read() or await _create(session, directory)
        await certificates.save(session, state.renewed())
    async with store.read() as session:
        stored = await certificates.find(session)
    if stored is None:
        raise ValueError("The store does not contain the console CA that was written to it. Check the database server.")
    files.retire(stored)
    return stored


async def _create(session: AsyncSession, directory: Path) -> CertificateState:
    if joined := await nodes.list_all(session):
        raise ValueError(
            f"The store contains {len(joined)} nodes but no console CA. The CA was in {directory} of the console that used this "
            "store before: copy that directory to this console. If it is lost, run `shardboard new-ca --yes` and rejoin every "
            "agent."
        )
    return CertificateState.create()


async def reset(session: AsyncSession, originator: str) -> str:
    """Replace the CA at once, without its agents: they reject the consoles until they join again. Return the fingerprint."""
    await clusters.load_for_update(session)
    previous = await certificates.find(session)
    state = CertificateState.create()
    if previous is not None and previous.installed is not None:
        state = state.installing(previous.installed)
    await certificates.save(session, state)
    message = f"A new console CA, {state.current.fingerprint}, was created. Every agent must rejoin."
    events.record(session, "authority_reset", message, source="cluster", severity="WARNING", originator=originator)
    return state.current.fingerprint
