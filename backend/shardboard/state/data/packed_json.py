"""Large JSON objects as compressed text, for encrypted columns."""

import base64
import json
import zlib
from typing import Any


def pack(content: dict[str, Any]) -> str:
    text = json.dumps(content, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode())).decode()


def unpack(packed: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed)))
    return content
