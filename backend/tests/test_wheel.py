"""Tests that an installation of the built wheel runs the demo (console, web UI, agents, proxies and flash) without the checkout."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
UNSHARE = ("unshare", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc", "--kill-child")
PIP = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")

# Only the editable installation refers to the checkout, and the given path takes precedence over it.
IMPORT_ALL = textwrap.dedent("""
    import importlib, json, pkgutil, sys

    sys.path.insert(0, sys.argv[1])
    import shardboard
    for module in pkgutil.walk_packages(shardboard.__path__, "shardboard."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    print(json.dumps([shardboard.__file__]))
""")
# Run in a separate network namespace, because the demo uses fixed addresses.
RUN_DEMO = textwrap.dedent("""
    import json, os, signal, subprocess, sys, time
    from pathlib import Path
    import httpx, psutil

    python, state = sys.argv[1:]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    demo = subprocess.Popen([python, "-m", "shardboard", "demo"], cwd=state)
    login = Path(state, "var", "demo-login.json")

    def answer(path):
        assert demo.poll() is None, f"the demo ended: {demo.returncode}"
        try:
            account = json.loads(login.read_text())
            reply = httpx.get("http://localhost:8080" + path, auth=(account["user"], account["password"]))
            return reply if reply.status_code == 200 else None
        except (OSError, ValueError, httpx.TransportError):
            return None

    def until(condition):
        while not (found := condition()):
            time.sleep(0.1)
        return found

    def active():
        reply = answer("/v1/bdbs")
        return reply and [bdb for bdb in reply.json() if bdb["name"] == "demo" and bdb["status"] == "active"]

    until(active)
    print(json.dumps({
        "page": answer("/").text,
        "flash": [node["bigstore_enabled"] for node in answer("/v1/nodes").json()],
        "proxies": [
            process.info["exe"] for process in psutil.process_iter(["name", "exe"])
            if process.info["name"] == "shardboard-proxy"
        ],
    }), flush=True)
    demo.send_signal(signal.SIGINT)
    sys.exit(demo.wait())
""")


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with the wheel. Its dependencies are taken from the environment of the tests."""
    directory = tmp_path / "environment"
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path, CHECKOUT], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([*PIP, "--python", directory / "bin" / "python", "install", "--no-deps", wheel], check=True)
    # In that directory a .pth file adds the checkout, but Python ignores .pth files outside the site-packages of the environment.
    (site_packages,) = directory.glob("lib/python*/site-packages")
    (site_packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return directory


def test_every_module_imports_without_the_checkout(tmp_path: Path) -> None:
    shutil.copytree(
        CHECKOUT / "backend" / "shardboard", tmp_path / "shardboard", ignore=shutil.ignore_patterns("__pycache__")
    )
    completed = subprocess.run(
        [sys.executable, "-I", "-c", IMPORT_ALL, tmp_path], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True
    )
    assert json.loads(completed.stdout) == [str(tmp_path / "shardboard" / "__init__.py")]


@pytest.mark.slow
@pytest.mark.skipif(
    subprocess.run([*UNSHARE, "ip", "link", "set", "lo", "up"], capture_output=True, check=False).returncode != 0,
    reason="this machine does not allow creating network namespaces",
)
def test_installed_wheel_runs_the_demo(environment: Path, tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SHARDBOARD_"))}
    completed = subprocess.run(
        [*UNSHARE, sys.executable, "-c", RUN_DEMO, environment / "bin" / "python", tmp_path],
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result = json.loads(next(line for line in completed.stdout.splitlines() if line.startswith("{")))
    assert '<div id="root">' in result["page"]
    assert result["flash"] == [True] * 3
    assert len(result["proxies"]) == 3
    assert all(Path(proxy).is_relative_to(environment) for proxy in result["proxies"])
