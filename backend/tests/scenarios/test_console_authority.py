"""The console's authority is replaced, in the end by one below somebody else's, while clients connect to an endpoint with TLS."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import valkey
from backend.tests.certificates import Signed, below, root
from backend.tests.scenarios import databases
from backend.tests.scenarios.test_endpoint import served
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from shardboard.local import LocalCluster, ok

pytestmark = pytest.mark.slow

PATH = "/v1/cluster/authority"


class Caller:
    """A client that connects to every node's endpoint anew, over and over, and believes what is in its file."""

    def __init__(self, addresses: list[str], port: int, file: Path) -> None:
        self._places = [(address, port) for address in addresses]
        self._file = file
        self._stop = threading.Event()
        self.calls = 0
        self.errors: list[str] = []

    def call(self, address: str, port: int) -> None:
        with valkey.Valkey(address, port, ssl=True, ssl_ca_certs=str(self._file), protocol=2) as connection:
            assert connection.ping()

    def trust(self, certificates: str) -> None:
        """From the next connection on; nobody reads half of it."""
        beside = self._file.with_suffix(".new")
        beside.write_text(certificates)
        beside.replace(self._file)

    def _run(self) -> None:
        while not self._stop.is_set():
            for place in self._places:
                try:
                    self.call(*place)
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

    def grown(self, cluster: LocalCluster) -> None:
        before = self.calls
        cluster.until(lambda: self.calls > before + 2 * len(self._places), "the client does not connect any more")


def step(cluster: LocalCluster) -> str:
    return str(ok(cluster.api.get(PATH))["step"])


def switched(cluster: LocalCluster) -> None:
    """The second order, as soon as all nodes have heard of the first, and to its end."""
    cluster.until(lambda: not waiting(cluster), "the nodes are not told")
    ok(cluster.api.post(f"{PATH}/switch"))
    cluster.until(lambda: step(cluster) == "", "the former authority is not forgotten")


def waiting(cluster: LocalCluster) -> list[str]:
    return [node["waits_for"] for node in ok(cluster.api.get(PATH))["nodes"] if node["waits_for"]]


def signed(cluster: LocalCluster, above: Signed) -> str:
    """What somebody else's authority makes of the console's request, with itself."""
    csr = ok(cluster.api.post(f"{PATH}/request"))["csr"]
    key = x509.load_pem_x509_csr(csr.encode()).public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    return below(above, key).pem + above.pem


def test_the_authority_is_replaced_and_no_client_notices(cluster: LocalCluster, tmp_path: Path) -> None:
    bdb = served(cluster, databases.body(3, tls_mode="enabled", proxy_policy="all-nodes"))
    port = bdb["endpoints"][0]["port"]
    former, top = cluster.api.get("/v1/ca/bundle").text, root()
    caller = Caller(cluster.addresses, port, tmp_path / "trusted.pem")
    caller.trust(former)
    with caller.calling():
        caller.grown(cluster)
        ok(cluster.api.post(f"{PATH}/announce"))
        caller.trust(cluster.api.get("/v1/ca/bundle").text)
        caller.grown(cluster)
        # Killed between the two orders, and at once after the second, the console goes on; it waits for who is away.
        cluster.kill("console")
        cluster.start_console()
        cluster.until(lambda: not waiting(cluster), "the nodes are not told")
        ok(cluster.api.post(f"{PATH}/switch"))
        cluster.kill("console")
        cluster.kill(away := cluster.addresses[1])
        cluster.start_console()
        cluster.until(lambda: len(waiting(cluster)) == 1, "the others do not get certificates")
        caller.grown(cluster)
        assert step(cluster) == "shown"
        cluster.start_agents()
        cluster.until(lambda: step(cluster) == "", f"the former authority is not forgotten, though {away} is back")
        caller.grown(cluster)
        # Below somebody else's, which the client trusts already: it needs no file of ours from now on.
        ok(cluster.api.post(f"{PATH}/announce", json={"certificate": signed(cluster, top)}))
        caller.trust(cluster.api.get("/v1/ca/bundle").text)
        caller.grown(cluster)
        switched(cluster)
        caller.trust(top.pem)
        caller.grown(cluster)
    assert caller.errors == []
    (old := tmp_path / "former.pem").write_text(former)
    with pytest.raises(valkey.ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
        Caller([], port, old).call(cluster.addresses[0], port)
    databases.delete(cluster, bdb["uid"])
