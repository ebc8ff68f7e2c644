"""Tests of the console behind real nginx and HAProxy, configured as in docs/guide/reverse-proxy.md."""

import asyncio
import re
import shutil
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen

import httpx
import pytest
from backend.tests.conftest import PASSWORD, USER
from backend.tests.support.app_factory import app_for
from backend.tests.support.certificates import sign
from backend.tests.support.real_shards import wait_until

from shardboard.app import servers
from shardboard.console import Console
from shardboard.local.loopback import free_port
from shardboard.net import http_server
from shardboard.settings import Settings

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "reverse-proxy.md"
NAME = "console.example.org"
LOGIN = {"username": USER, "password": PASSWORD}
CLIENT = "127.0.0.77"
NGINX = "daemon off; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {paths} {server} }}"
TEMPORARY = ("client_body_temp_path", "proxy_temp_path", "fastcgi_temp_path", "uwsgi_temp_path", "scgi_temp_path")


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Settings as the guide says, on free ports."""
    ports = {"http_port": free_port(), "https_port": free_port(), "metrics_port": 0, "https_host": "127.0.0.1"}
    return settings.model_copy(update={"public_names": [NAME], "trusted_proxies": ["127.0.0.1"], **ports})


@pytest.fixture
async def served(console: Console) -> AsyncIterator[Console]:
    """A console that serves its ports."""
    stop_requested = asyncio.get_running_loop().create_future()
    closing = lambda: console.bus.publish("closing")  # noqa: E731
    server = asyncio.create_task(
        http_server.serve(servers(console, app_for(console)), stopping=closing, watch=stop_requested)
    )
    await wait_until(lambda: answers(console.settings.https_port))
    yield console
    stop_requested.set_result(None)
    await server


@dataclass(frozen=True)
class Proxy:
    """A running reverse proxy."""

    port: int
    ca: str

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client that resolves the public name to the proxy and comes from CLIENT."""
        context = ssl.create_default_context(cadata=self.ca)
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        transport = httpx.AsyncHTTPTransport(verify=context, local_address=CLIENT)
        headers = {"Host": NAME, "X-Forwarded-For": "192.0.2.66", "X-Requested-With": "shardboard"}
        async with httpx.AsyncClient(
            transport=transport, base_url=f"https://127.0.0.1:{self.port}", headers=headers
        ) as client:
            client.event_hooks["request"].append(set_server_name)
            yield client


async def set_server_name(request: httpx.Request) -> None:
    request.extensions["sni_hostname"] = NAME


async def answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    writer.close()
    return True


def snippets(language: str) -> list[str]:
    """Return the configuration examples of the guide in that language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE.read_text(), re.DOTALL)


def nginx_server(*, tls: bool = False, sub_path: bool = False) -> str:
    server, to_tls, location = snippets("nginx")
    if tls:
        server = server.replace("        proxy_pass http://127.0.0.1:8080;\n", to_tls)
    if sub_path:
        server = server.replace("    location / {", f"{location}\n    location / {{")
    return server


def haproxy_server(*, tls: bool = False) -> str:
    configuration, to_tls = snippets("haproxy")
    if tls:
        configuration = configuration.replace("    server console 127.0.0.1:8080 check\n", to_tls)
    return configuration


class ProxyFolder:
    """Folder with the files that the guide names, and a port in place of 443."""

    def __init__(self, folder: Path, console: Console) -> None:
        self.folder, self.port, self._console = folder, free_port(), console
        signed = sign("proxy", names=(NAME,))
        self.ca = signed.pem
        for name, content in (
            ("console.pem", signed.pem),
            ("console.key", signed.key_pem),
            ("console-and-key.pem", signed.pem + signed.key_pem),
            ("shardboard-ca.pem", console.ca.ca_pem),
        ):
            (folder / name).write_text(content)

    def adapted(self, configuration: str) -> str:
        settings = self._console.settings
        for before, after in (
            ("/etc/ssl/", f"{self.folder}/"),
            ("listen 443", f"listen 127.0.0.1:{self.port}"),
            ("bind :443", f"bind 127.0.0.1:{self.port}"),
            ("127.0.0.1:8080", f"127.0.0.1:{settings.http_port}"),
            ("127.0.0.1:9443", f"127.0.0.1:{settings.https_port}"),
        ):
            configuration = configuration.replace(before, after)
        return configuration


@contextmanager
def running(name: str, *arguments: str) -> Iterator[None]:
    program = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    assert program, f"{name} is not installed: run `make setup-tests`"
    with Popen([program, *arguments], stdout=DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


@asynccontextmanager
async def nginx(place: ProxyFolder, server: str) -> AsyncIterator[Proxy]:
    paths = " ".join(f"{each} {place.folder}/{each};" for each in TEMPORARY)
    configuration = NGINX.format(folder=place.folder, paths=paths, server=place.adapted(server))
    (place.folder / "nginx.conf").write_text(configuration)
    with running("nginx", "-c", f"{place.folder}/nginx.conf", "-e", "stderr"):
        await wait_until(lambda: answers(place.port))
        yield Proxy(place.port, place.ca)


@asynccontextmanager
async def haproxy(place: ProxyFolder, configuration: str) -> AsyncIterator[Proxy]:
    (place.folder / "haproxy.cfg").write_text(place.adapted(configuration))
    with running("haproxy", "-db", "-f", f"{place.folder}/haproxy.cfg"):
        await wait_until(lambda: answers(place.port))
        yield Proxy(place.port, place.ca)


@pytest.fixture
def place(tmp_path: Path, served: Console) -> ProxyFolder:
    folder = tmp_path / "proxy"
    folder.mkdir()
    return ProxyFolder(folder, served)


async def check_console(proxy: Proxy) -> None:
    """Sign in like a browser, and use the features that depend on the proxy."""
    async with proxy.client() as browser:
        assert (await browser.get("/metrics")).status_code == 401
        assert (await browser.post("/v1/bootstrap/create_cluster", json={})).status_code == 401
        reply = await browser.post("/v1/session", json=LOGIN)
        assert reply.status_code == 200, reply.text
        assert "; Secure" in reply.headers["set-cookie"]
        assert reply.headers["strict-transport-security"]
        session = {"Cookie": reply.headers["set-cookie"].partition(";")[0]}
        [row] = (await browser.get("/v1/users/1/sessions", headers=session)).json()
        assert row["address"] == CLIENT, "not the address that the client sent"
        async with asyncio.timeout(3), browser.stream("GET", "/v1/stream", headers=session) as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            async for part in stream.aiter_text():
                assert part.startswith("event: hello")
                break
        provider = {"issuer": "https://sso.example.org", "client_id": "x", "enabled": False}
        change_reply = await browser.put("/v1/cluster/oidc", json=provider, headers=session)
        assert change_reply.json()["redirect_uri"] == f"https://{NAME}/v1/session/sso/callback"


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_nginx_as_the_guide_configures_it(place: ProxyFolder, tls: bool) -> None:
    async with nginx(place, nginx_server(tls=tls)) as proxy:
        await check_console(proxy)


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_haproxy_as_the_guide_configures_it(place: ProxyFolder, tls: bool) -> None:
    async with haproxy(place, haproxy_server(tls=tls)) as proxy:
        await check_console(proxy)


async def test_api_works_below_a_path(place: ProxyFolder) -> None:
    async with nginx(place, nginx_server(sub_path=True)) as proxy, proxy.client() as script:
        script.auth = (USER, PASSWORD)
        assert (await script.get("/shardboard/v1/cluster")).json()["name"] == "shardboard.local"


async def test_unknown_host_name_is_refused(place: ProxyFolder) -> None:
    async with nginx(place, nginx_server()) as proxy, proxy.client() as script:
        reply = await script.get("/v1/ca", headers={"Host": "rebound.example.com"})
        assert (reply.status_code, reply.json()["error_code"]) == (421, "unknown_host")


async def test_proxy_without_headers_grants_no_access(place: ProxyFolder) -> None:
    """The proxy sends its own address as `Host`, and every client comes from 127.0.0.1."""
    config_without_headers = re.sub(r" +proxy_(?!pass).*\n", "", nginx_server())
    async with nginx(place, config_without_headers) as proxy, proxy.client() as anonymous:
        assert (await anonymous.get("/metrics")).status_code == 401
        body = {"cluster": {"name": "x.example.org"}, "credentials": {"username": "m@example.org", "password": "x" * 9}}
        assert (await anonymous.post("/v1/bootstrap/create_cluster", json=body)).status_code == 401
        assert (await anonymous.get("/v1/bootstrap")).json()["local_node_info"] == {}
        assert "; Secure" in (await anonymous.post("/v1/session", json=LOGIN)).headers["set-cookie"]
