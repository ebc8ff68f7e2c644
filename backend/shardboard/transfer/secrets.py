"""Removal of secrets from messages: error messages of libraries and servers can contain URLs and credentials."""

import re
from urllib.parse import parse_qs, quote, unquote, urlsplit

from shardboard.contract.locations import SECRET_FIELDS
from shardboard.transfer.specification import Specification

MIN_CHARACTERS = 4
"""Shorter values occur in texts by chance."""
_URLS = ("url", "sftp_url", "endpoint", "proxy_url")


def secrets_of(specification: Specification) -> set[str]:
    """Return the secrets of a specification, in the forms in which they occur in messages."""
    location = specification.transfer.location
    found = {getattr(location, name, "") for name in SECRET_FIELDS}
    found |= {shard.password for shard in specification.shards.values()}
    found |= set(parse_qs(getattr(location, "sas_token", "").removeprefix("?")).get("sig", ()))
    found |= set(getattr(specification.transfer, "identities", ()))
    for name in _URLS:
        found |= _secrets_of_url(getattr(location, name, ""))
    forms = {form for secret in found for form in (secret, unquote(secret), quote(secret, safe=""))}
    return {secret for secret in forms if len(secret) >= MIN_CHARACTERS}


def _secrets_of_url(url: str) -> set[str]:
    try:
        parts = urlsplit(url)
    except ValueError:  # messages can contain the part before the path
        server = re.split("[/?#]", url.partition("//")[2])[0]
        return {url, server, server.rpartition("@")[0]}
    return {parts.password or "", parts.query}


def redact(text: str, secrets: set[str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
