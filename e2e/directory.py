"""Run an OpenLDAP server for the browser tests. Prints one line of JSON when it responds; ends when its standard input closes."""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from backend.tests.support import openldap  # noqa: E402


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, openldap.openldap(Path(folder)) as server:
        info = {
            "encrypted": server.tls_url,
            "ca": server.ca,
            "reader": [openldap.READER, openldap.READER_PASSWORD],
            "person": ["bob", openldap.BOB_PASSWORD],
            "people": openldap.PEOPLE,
            "groups": openldap.GROUPS,
            "dba": openldap.DBA,
        }
        print(json.dumps(info), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
