"""Removal of secrets from messages."""

import json
from pathlib import Path

import pytest

from shardboard.contract.locations import S3, AzureBlob, Ftp, Location, Url
from shardboard.contract.transfers import CheckLocation, TransferProgress
from shardboard.transfer.reports import MAX_ERROR_CHARACTERS, Reports
from shardboard.transfer.secrets import secrets_of
from shardboard.transfer.specification import END, PROGRESS, ShardAccess, Specification


def specification(location: Location) -> Specification:
    access = ShardAccess(socket=Path("/valkey.sock"), user="shardboard", password="shard-password")
    return Specification(transfer=CheckLocation(location=location), shards={1: access})


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (S3(bucket_name="b", secret_access_key="top-secret"), "the key top-secret is wrong"),
        (S3(bucket_name="b", proxy_url="http://u:top-secret@proxy"), "proxy http://u:top-secret@proxy failed"),
        (AzureBlob(container="c", account_name="a", sas_token="sig=a%2Fb"), "https://host/c?sig=a%2Fb or sig=a/b"),
        (Ftp(url="ftp://u:p%40ssword@host"), "p@ssword or p%40ssword"),
        (Url(url="https://host/file?signature=top-secret"), "GET https://host/file?signature=top-secret"),
        (S3(bucket_name="b"), "AUTH shard-password"),
        (Ftp(url="ftp://u:top-secret\u2100@host"), "netloc 'u:top-secret\u2100@host' contains invalid characters"),
        (Ftp(url="ftp://[u:top-secret@host"), "ftp://[u:top-secret@host"),
        (
            AzureBlob(container="c", account_name="a", sas_token="?sv=2&sig=a%2Fb"),
            "GET https://host/c?comp=x&sig=a%2Fb",
        ),
    ],
)
def test_secrets_are_not_in_error_messages(location: Location, text: str, tmp_path: Path) -> None:
    reports = Reports(tmp_path, secrets_of(specification(location)))
    reports.error("general-error", text)
    reported = json.loads((tmp_path / "end.json").read_text())["error"]
    assert "***" in reported
    assert not any(secret in reported for secret in ("top-secret", "a%2Fb", "a/b", "ssword", "shard-password"))
    reports.result({"checks": [{"name": "write", "ok": False, "error": text}]})
    assert json.loads((tmp_path / "end.json").read_text())["result"]["checks"][0]["error"] == reported


def test_secrets_are_not_in_messages_of_recordings(tmp_path: Path) -> None:
    reports = Reports(tmp_path, secrets_of(specification(S3(bucket_name="b", secret_access_key="top-secret"))))
    text = "the key top-secret is wrong" + "." * 20_000
    reports.progress(TransferProgress(offset=5).model_copy(update={"problem": text}))
    progress = TransferProgress.model_validate_json((tmp_path / PROGRESS).read_bytes())
    reports.result({"reason": "stopped", "details": text})
    result = json.loads((tmp_path / END).read_text())["result"]
    for message in (progress.problem, result["details"]):
        assert message.startswith("the key *** is wrong.")
        assert len(message) == MAX_ERROR_CHARACTERS
    assert (progress.offset, result["reason"]) == (5, "stopped")


def test_short_and_empty_secrets_do_not_change_messages(tmp_path: Path) -> None:
    reports = Reports(tmp_path, secrets_of(specification(S3(bucket_name="b", secret_access_key="a"))))
    reports.error("general-error", "a bad day")
    assert json.loads((tmp_path / "end.json").read_text())["error"] == "a bad day"


def test_secrets_are_not_in_representations() -> None:
    text = repr(specification(S3(bucket_name="b", secret_access_key="top-secret")))
    assert "top-secret" not in text
    assert "shard-password" not in text
