"""The console CA is replaced, first by a self-signed CA, then by an intermediate CA, while clients connect to a TLS endpoint."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import valkey
from backend.tests.scenarios import database_helpers
from backend.tests.scenarios.test_endpoint import create_served_database
from backend.tests.support.certificates import SignedCertificate, create_root_ca, sign_intermediate_ca
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from shardboard.local.cluster import LocalCluster, ok

pytestmark = pytest.mark.slow

PATH = "/v1/cluster/authority"


class Caller:
    """A client that repeatedly opens a connection to the endpoint of each node, and trusts the CAs in its file."""

    def __init__(self, addresses: list[str], port: int, file: Path) -> None:
        self._endpoints = [(address, port) for address in addresses]
        self._file = file
        self._stop = threading.Event()
        self.calls = 0
        self.errors: list[str] = []

    def call(self, address: str, port: int) -> None:
        with valkey.Valkey(address, port, ssl=True, ssl_ca_certs=str(self._file), protocol=2) as connection:
            assert connection.ping()

    def trust(self, certificates: str) -> None:
        """Replace the file atomically. The next connection uses it."""
        temporary = self._file.with_suffix(".new")
        temporary.write_text(certificates)
        temporary.replace(self._file)

    def _run(self) -> None:
        while not self._stop.is_set():
            for endpoint in self._endpoints:
                try:
                    self.call(*endpoint)
                    self.calls += 1
                except Exception as error:
                    self.errors.append(repr(error))

    @contextmanager
    def calling(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def wait_for_calls(self, cluster: LocalCluster) -> None:
        before = self.calls
        cluster.wait_until(lambda: self.calls > before + 2 * len(self._endpoints), "the client no longer connects")


def step(cluster: LocalCluster) -> str:
    return str(ok(cluster.api.get(PATH))["step"])


def complete_switch(cluster: LocalCluster) -> None:
    """Request the switch as soon as all nodes trust the new CA, and wait for its end."""
    cluster.wait_until(lambda: not pending_reasons(cluster), "the nodes do not trust the new CA")
    ok(cluster.api.post(f"{PATH}/switch"))
    cluster.wait_until(lambda: step(cluster) == "", "the former CA is not removed")


def pending_reasons(cluster: LocalCluster) -> list[str]:
    return [node["waits_for"] for node in ok(cluster.api.get(PATH))["nodes"] if node["waits_for"]]


def sign_request(cluster: LocalCluster, parent: SignedCertificate) -> str:
    """Let an external CA sign the request of the console. Return the chain, including that CA."""
    csr = ok(cluster.api.post(f"{PATH}/request"))["csr"]
    key = x509.load_pem_x509_csr(csr.encode()).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    return sign_intermediate_ca(parent, key).pem + parent.pem


def test_a_console_ca_replacement_causes_no_client_error(cluster: LocalCluster, tmp_path: Path) -> None:
    bdb = create_served_database(
        cluster, database_helpers.request_body(3, tls_mode="enabled", proxy_policy="all-nodes")
    )
    port = bdb["endpoints"][0]["port"]
    former, top = cluster.api.get("/v1/ca/bundle").text, create_root_ca()
    caller = Caller(cluster.addresses, port, tmp_path / "trusted.pem")
    caller.trust(former)
    with caller.calling():
        caller.wait_for_calls(cluster)
        ok(cluster.api.post(f"{PATH}/announce"))
        caller.trust(cluster.api.get("/v1/ca/bundle").text)
        caller.wait_for_calls(cluster)
        # The console continues after it is killed before and after the switch. It waits for the node whose agent is stopped.
        cluster.kill("console")
        cluster.start_console()
        cluster.wait_until(lambda: not pending_reasons(cluster), "the nodes do not trust the new CA")
        ok(cluster.api.post(f"{PATH}/switch"))
        cluster.kill("console")
        cluster.kill(stopped_agent := cluster.addresses[1])
        cluster.start_console()
        cluster.wait_until(lambda: len(pending_reasons(cluster)) == 1, "the other nodes do not get certificates")
        caller.wait_for_calls(cluster)
        assert step(cluster) == "shown"
        cluster.start_agents()
        cluster.wait_until(lambda: step(cluster) == "", f"the former CA is not removed, though {stopped_agent} is back")
        caller.wait_for_calls(cluster)
        # The new CA is issued by an external CA. Clients that trust the external CA no longer need the file of the console.
        ok(cluster.api.post(f"{PATH}/announce", json={"certificate": sign_request(cluster, top)}))
        caller.trust(cluster.api.get("/v1/ca/bundle").text)
        caller.wait_for_calls(cluster)
        complete_switch(cluster)
        caller.trust(top.pem)
        caller.wait_for_calls(cluster)
    assert caller.errors == []
    (old := tmp_path / "former.pem").write_text(former)
    with pytest.raises(valkey.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
        Caller([], port, old).call(cluster.addresses[0], port)
    database_helpers.delete(cluster, bdb["uid"])
