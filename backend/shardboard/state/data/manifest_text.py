"""The content of `manifest.json`. That of an encrypted backup is encrypted again each time, with the same public keys."""

import json
from dataclasses import replace
from typing import Any

from shardboard.contract.transfers import MAX_FILE_CHARACTERS
from shardboard.domain.data.manifest import Manifest
from shardboard.kit import age


def text(manifest: Manifest) -> str:
    """Return the content of the file."""
    written = json.dumps(_content(manifest), indent=1)
    if len(written) > MAX_FILE_CHARACTERS:
        written = json.dumps(_content(replace(manifest, analysis={})), separators=(",", ":"))
    return written


def _content(manifest: Manifest) -> dict[str, Any]:
    if not manifest.recipients:
        return manifest.as_json()
    if manifest.sealed:
        return manifest.public_part(manifest.sealed)
    private = json.dumps(manifest.private_part(), separators=(",", ":"))
    return manifest.public_part(age.encrypt_text(private, manifest.recipients))
