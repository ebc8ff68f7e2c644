"""Tests of the certificates that consoles share, at the start of a console: created once, imported once, never lost."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from backend.tests.support.consoles.earlier_certificate_files import names_in, write_files

from shardboard.driver.fake_agents import FACTS
from shardboard.pki.certificate_state import CertificateState
from shardboard.pki.console_ca import ConsoleCa
from shardboard.pki.imported_files import ImportedFiles
from shardboard.services.access.authorization import first_start
from shardboard.services.cluster.console_certificates import load_or_create, reset
from shardboard.settings import Settings
from shardboard.state.alerting import events
from shardboard.state.cluster import console_certificates as certificates
from shardboard.state.cluster.console_certificates import ConsoleCertificates
from shardboard.state.cluster.nodes import Node
from shardboard.store.db import Store

pytestmark = pytest.mark.store_in_all


class Killed(Exception):
    """The process was killed here."""


@pytest.fixture
async def new_store(store: Store, settings: Settings) -> Store:
    async with store.begin() as session:
        await first_start(session, settings)
    return store


async def delete_certificates(store: Store) -> None:
    async with store.begin() as session:
        await session.delete(await session.get_one(ConsoleCertificates, 1))


async def test_each_start_returns_the_same_ca(new_store: Store, tmp_path: Path) -> None:
    """Also with another state directory."""
    first = await load_or_create(new_store, tmp_path / "first")
    for directory in ("first", "second"):
        assert (await load_or_create(new_store, tmp_path / directory)).stored == first.stored
        assert not (tmp_path / directory).exists(), "no key is written to the disk"


async def test_certificate_for_agents_is_renewed_at_the_start(
    new_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shardboard.pki.certificate_state.PEER_DAYS", -1)
    expired = await load_or_create(new_store, tmp_path)
    monkeypatch.undo()
    renewed = await load_or_create(new_store, tmp_path)
    assert renewed.client != expired.client
    assert {**renewed.stored, "client": expired.client} == expired.stored
    assert (await load_or_create(new_store, tmp_path)).stored == renewed.stored


@pytest.mark.parametrize("killed_in", ["", "commit", "retire"])
async def test_state_directory_of_an_earlier_release_is_imported_once(
    new_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_in: str
) -> None:
    """A console that is killed at any point imports the files at its next start, or has imported them."""
    tls = tmp_path / "tls"
    earlier = CertificateState.create().announcing().installing("certificate and key")
    write_files(tls, earlier)
    before = names_in(tls)

    def kill(*_: object) -> None:
        raise Killed

    if killed_in in ("commit", "retire"):
        target = (certificates, "save") if killed_in == "commit" else (ImportedFiles, "retire")
        monkeypatch.setattr(*target, kill)
        with pytest.raises(Killed):
            await load_or_create(new_store, tls)
        monkeypatch.undo()
        assert names_in(tls) == before
    imported = await load_or_create(new_store, tls)
    assert {**imported.stored, "client": earlier.client} == earlier.stored
    assert names_in(tls) == before | {"imported"}, "kept until the next start"
    async with new_store.begin() as session:
        ca = ConsoleCa(imported, Settings(state_dir=tmp_path / "state"))
        await certificates.replace(session, ca, imported.switched())
    assert (await load_or_create(new_store, tls)).current.fingerprint == ca.ca_fingerprint()
    assert names_in(tls) == {"ca.pem"}


async def test_restored_copy_of_store_and_files_is_imported_again(new_store: Store, tmp_path: Path) -> None:
    """Both are from before the upgrade, and the console of this release had already deleted the files."""
    tls = tmp_path / "tls"
    earlier = CertificateState.create()
    write_files(tls, earlier)
    for _ in range(2):
        await load_or_create(new_store, tls)
    await delete_certificates(new_store)
    write_files(tls, earlier)
    assert (await load_or_create(new_store, tls)).current.fingerprint == earlier.current.fingerprint


async def test_no_ca_is_created_for_a_store_with_nodes(new_store: Store, tmp_path: Path) -> None:
    """Its agents would reject the console."""
    async with new_store.begin() as session:
        now = datetime.now(UTC)
        session.add(
            Node(
                uid=1,
                addr="10.0.0.1",
                agent_port=9700,
                agent_status="connected",
                last_seen=now,
                joined_at=now,
                facts=FACTS.model_dump(),
            )
        )
    with pytest.raises(ValueError, match=r"contains 1 nodes but no console CA.* copy that directory to this console"):
        await load_or_create(new_store, tmp_path)
    async with new_store.begin() as session:
        assert await certificates.find(session) is None
        fingerprint = await reset(session, "shell")
    assert (await load_or_create(new_store, tmp_path)).current.fingerprint == fingerprint


async def test_reset_keeps_the_installed_certificate(new_store: Store, tmp_path: Path) -> None:
    before = await load_or_create(new_store, tmp_path)
    async with new_store.begin() as session:
        await certificates.save(session, before.announcing().installing("certificate and key"))
    async with new_store.begin() as session:
        fingerprint = await reset(session, "shell")
    after = await load_or_create(new_store, tmp_path)
    assert (after.current.fingerprint, after.step) == (fingerprint, "")
    assert (after.installed, before.current.fingerprint != fingerprint) == ("certificate and key", True)
    async with new_store.read() as session:
        newest = (await events.page(session, newest_first=True))[0]
    assert (newest.type, newest.severity) == ("authority_reset", "WARNING")
