"""Test of the second console of a local cluster."""

import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from shardboard.local.cluster import LocalCluster
from shardboard.local.consoles import ConsolePair, console_pair
from shardboard.pki.signer import CertificateAuthority


@pytest.mark.parametrize("has_ended", [False, True])
def test_second_console_is_stopped_at_the_end_of_the_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_ended: bool
) -> None:
    """Also if the block fails."""
    (tmp_path / "tls").mkdir()
    (tmp_path / "tls" / "ca.pem").write_text(CertificateAuthority.create("a", 10).pem)
    cluster = LocalCluster(tmp_path, user="a", password="b", https_port=9443, http_port=0, addresses=())

    def start(pair: ConsolePair) -> None:
        pair.cluster.children["console-2"] = subprocess.Popen(["true" if has_ended else "cat"], stdin=subprocess.PIPE)
        if has_ended:
            pair.cluster.children["console-2"].wait()

    monkeypatch.setattr(ConsolePair, "start_second", start)
    with suppress(ZeroDivisionError), console_pair(cluster) as pair:
        process = cluster.children["console-2"]
        raise ZeroDivisionError
    assert process.poll() is not None
    assert pair.second.api.is_closed
    if process.stdin is not None:
        process.stdin.close()
