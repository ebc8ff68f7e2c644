"""The packages of `integrations/`, and credentials for programs that use them."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardboard.local.cluster import LocalCluster, ok

TOP = Path(__file__).parents[4]
INTEGRATIONS = TOP / "integrations"


@pytest.fixture(autouse=True)
def without_references(cluster: LocalCluster) -> Iterator[None]:
    """Delete the mappings and receivers that a test has left behind, because roles in use cannot be deleted."""
    yield
    for path in ("/v1/ldap_mappings", "/v1/webhooks"):
        for each in ok(cluster.api.get(path)):
            ok(cluster.api.delete(f"{path}/{each['uid']}"))


@pytest.fixture
def environment(cluster: LocalCluster) -> dict[str, str]:
    """Environment of a program with a service token of an administrator."""
    body = {"name": f"integration-{os.urandom(4).hex()}", "role": "admin"}
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SHARDBOARD_", "ANSIBLE_"))},
        "SHARDBOARD_URL": cluster.url,
        "SHARDBOARD_TOKEN": ok(cluster.api.post("/v1/service_tokens", json=body))["token"],
        "SHARDBOARD_CA_FILE": str(cluster.directory / "tls" / "ca.pem"),
        "NO_PROXY": "*",
        "LC_ALL": "C.UTF-8",  # Ansible requires UTF-8
    }


@pytest.fixture(scope="session")
def python_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Build the Python client as users do, and make it importable. Return the folder that contains the package."""
    folder = tmp_path_factory.mktemp("python_client")
    source, packages = folder / "source", folder / "packages"
    shutil.copytree(INTEGRATIONS / "python", source, ignore=shutil.ignore_patterns("rest", "dist"))
    shutil.copy(TOP / "docs" / "openapi.json", source)
    build = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    done = subprocess.run([sys.executable, *build, str(source)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    sys.path.insert(0, str(packages))
    yield packages
    sys.path.remove(str(packages))


@pytest.fixture(scope="session")
def collections(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build and install the collection. Return the folder of collections."""
    folder = tmp_path_factory.mktemp("ansible")
    galaxy = ["ansible-galaxy", "collection"]
    subprocess.run([*galaxy, "build", INTEGRATIONS / "ansible", "--output-path", folder], check=True)
    (archive,) = folder.glob("*.tar.gz")
    subprocess.run([*galaxy, "install", "--offline", archive, "--collections-path", folder], check=True)
    return folder
