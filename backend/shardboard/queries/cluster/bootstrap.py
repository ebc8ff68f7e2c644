"""The machine that the console runs on, in the form of the bootstrap API."""

import ipaddress
import os
import platform
import socket
import time
from typing import Any

import psutil

from shardboard import __version__
from shardboard.schemas.cluster.nodes import SUPPORTED_DATABASE_VERSIONS


def describe(storage_path: str) -> dict[str, Any]:
    """Return `local_node_info` of the REST reference (3.8); with both spellings of the address list."""
    addresses = _addresses()
    release = _os_release()
    size = float(psutil.disk_usage(storage_path).total)
    return {
        "uid": "1",
        "architecture": platform.machine(),
        "cores": os.cpu_count() or 1,
        "total_memory": psutil.virtual_memory().total,
        "available_addresses": addresses,
        "available_addrs": addresses,
        "persistent_storage_path": storage_path,
        "persistent_storage_size": size,
        "ephemeral_storage_path": storage_path,
        "ephemeral_storage_size": size,
        "bigredis_storage_path": "",
        "supported_bigstore_drivers": [],
        "bridge_interfaces": [],
        "fips_enabled": False,
        "software_version": __version__,
        "supported_database_versions": SUPPORTED_DATABASE_VERSIONS,
        "os_name": release.get("PRETTY_NAME", platform.system()),
        "os_family": release.get("ID", platform.system().lower()),
        "os_version": release.get("VERSION_ID", platform.release()),
        "os_semantic_version": release.get("VERSION_ID", platform.release()),
        "short_hostname": socket.gethostname().split(".")[0],
        "uptime": int(time.time() - psutil.boot_time()),
    }


def _addresses() -> list[dict[str, Any]]:
    addresses = []
    for interface, entries in psutil.net_if_addrs().items():
        for entry in entries:
            if entry.family in (socket.AF_INET, socket.AF_INET6):
                address = ipaddress.ip_address(entry.address.split("%")[0])
                addresses.append(
                    {
                        "address": str(address),
                        "format": f"ipv{address.version}",
                        "if_name": interface,
                        "private": address.is_private,
                    }
                )
    return addresses


def _os_release() -> dict[str, str]:
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}
