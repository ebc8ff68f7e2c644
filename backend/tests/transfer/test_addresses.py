"""Addresses that transfers do not connect to."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shardboard.contract.locations import S3, Ftp, Location, Sftp, Url
from shardboard.contract.transfers import CheckFiles
from shardboard.transfer.addresses import check_url, is_forbidden
from shardboard.transfer.errors import TransferError
from shardboard.transfer.specification import Specification


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1%eth0", "fd00:ec2::254", "168.63.129.16"]
)
def test_addresses_of_metadata_services(host: str) -> None:
    assert is_forbidden(host)
    with pytest.raises(TransferError, match="is an address of machine metadata"):
        check_url(f"http://[{host.partition('%')[0]}]/" if ":" in host else f"http://{host}/")


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "::1", "example.org", ""])
def test_other_addresses_are_allowed(host: str) -> None:
    assert not is_forbidden(host)


@pytest.mark.slow
@pytest.mark.parametrize(
    "location",
    [
        Url(url="http://169.254.169.254/latest/meta-data/"),
        Url(url="http://2852039166/latest/meta-data/"),
        Ftp(url="ftp://169.254.169.254/a"),
        Sftp(sftp_url="sftp://169.254.169.254/a", known_hosts="x ssh-ed25519 AAAA"),
        S3(bucket_name="b", access_key_id="i", secret_access_key="s", endpoint="http://169.254.169.254"),
    ],
)
def test_transfers_do_not_connect_to_them(location: Location, tmp_path: Path) -> None:
    specification = Specification(transfer=CheckFiles(location=location, paths=["a"]))
    program = [sys.executable, "-P", "-m", "shardboard.transfer"]
    content = specification.model_dump_json().encode()
    subprocess.run(program, cwd=tmp_path, input=content, timeout=60, check=True)
    assert "is an address of machine metadata" in json.loads((tmp_path / "end.json").read_text())["error"]
