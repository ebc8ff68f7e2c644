"""A real OpenLDAP server with three users and their groups, which accepts unencrypted connections, StartTLS and TLS."""

import base64
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from backend.tests.support.third_party_ca import create_ca_and_server_context

from shardboard.domain.access.ldap import Directory, Query
from shardboard.local.loopback import free_port

BASE = "dc=example,dc=org"
PEOPLE, GROUPS = f"ou=people,{BASE}", f"ou=groups,{BASE}"
READER, READER_PASSWORD = f"cn=reader,{BASE}", "reads entries"
ANN, ANN_PASSWORD = f"uid=ann,{PEOPLE}", "ann's päss word\n"
ODD_NAME = "o,d=d (x)*\\ä"
ODD = rf"uid=o\2Cd\3Dd (x)*\5Cä,{PEOPLE}"
BOB, BOB_PASSWORD = f"uid=bob,{PEOPLE}", "bob's password"
DBA, SHOP = f"cn=dba,{GROUPS}", f"cn=shop,{GROUPS}"
_FOLDERS = {"schema": Path("/etc/ldap/schema"), "modules": Path("/usr/lib/ldap")}
_SBIN = "/usr/sbin"

_CONFIGURATION = """
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/inetorgperson.schema
modulepath {modules}
moduleload back_mdb
moduleload memberof
TLSCertificateFile {folder}/127.0.0.1.pem
TLSCertificateKeyFile {folder}/127.0.0.1.pem
database mdb
suffix {base}
rootdn cn=admin,{base}
directory {folder}/entries
overlay memberof
access to attrs=userPassword by anonymous auth by * none
access to dn.subtree={groups} by dn.exact="{reader}" read by users read by * none
access to * by dn.exact="{reader}" read by self read by * none
"""

_ENTRIES = f"""
dn: {BASE}
objectClass: dcObject
objectClass: organization
o: example
dc: example

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups

dn: {READER}
objectClass: person
cn: reader
sn: reader
userPassword: {READER_PASSWORD}

dn: {ANN}
objectClass: inetOrgPerson
uid: ann
cn: Ann
sn: Twin
userPassword:: {{ann}}
memberOf: {DBA}
memberOf: {SHOP}

dn: {BOB}
objectClass: inetOrgPerson
uid: bob
cn: Bob
sn: Builder
userPassword: {BOB_PASSWORD}

dn:: {{odd}}
objectClass: inetOrgPerson
uid:: {{odd_name}}
cn: Odd
sn: Twin
userPassword: odd password

dn: {DBA}
objectClass: groupOfNames
cn: dba
member: {ANN}
member: {BOB}

dn: {SHOP}
objectClass: groupOfNames
cn: shop
member: {ANN}
member:: {{odd}}
"""


@dataclass(frozen=True)
class OpenLdap:
    """Addresses and CA of a running server."""

    unencrypted_url: str
    tls_url: str
    ca: str

    def directory(self, **other: object) -> Directory:
        """Return settings that find users and groups by queries as the user `READER`, over an unencrypted connection."""
        defaults: dict[str, object] = {
            "uris": (self.unencrypted_url,),
            "bind_dn": READER,
            "bind_pass": READER_PASSWORD,
            "user_dn_query": Query(BASE, "(&(objectClass=inetOrgPerson)(uid=%u))"),
            "dn_group_query": Query(GROUPS, "(member=%D)", "one"),
        }
        return Directory(**{**defaults, **other})  # type: ignore[arg-type]


@contextmanager
def openldap(folder: Path) -> Iterator[OpenLdap]:
    """Run the server until the end of the block."""
    ca, _ = create_ca_and_server_context(folder, "127.0.0.1")
    (folder / "entries").mkdir()
    configuration, entries = folder / "slapd.conf", folder / "entries.ldif"
    configuration.write_text(_CONFIGURATION.format(folder=folder, base=BASE, groups=GROUPS, reader=READER, **_FOLDERS))
    encoded = {"ann": ANN_PASSWORD, "odd": ODD, "odd_name": ODD_NAME}
    entries.write_text(_ENTRIES.format(**{name: _base64(text) for name, text in encoded.items()}))
    # The AppArmor profile in Debian's package denies the installed program access to this folder.
    installed = shutil.which("slapd", path=f"{os.environ['PATH']}:{_SBIN}")
    assert installed, "slapd is not installed: run `make setup-tests`"
    slapd = shutil.copy(installed, folder)
    subprocess.run([slapd, "-T", "add", "-f", configuration, "-l", entries], check=True, capture_output=True)
    ports = free_port(), free_port()
    uris = f"ldap://127.0.0.1:{ports[0]}", f"ldaps://127.0.0.1:{ports[1]}"
    # With -d it does not detach from this process.
    with subprocess.Popen([slapd, "-f", configuration, "-h", " ".join(uris), "-d", "0"]) as process:
        try:
            for port in ports:
                _await_listener(process, port)
            yield OpenLdap(*uris, ca)
        finally:
            process.terminate()


def _await_listener(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None, "slapd has ended"
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.02)
    raise TimeoutError("slapd does not listen")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
