"""Error messages of object stores. The library reports the reason only in the text of its errors."""

import re
from urllib.parse import urlsplit

from obstore import exceptions

from shardboard.contract.transfers import ErrorCode
from shardboard.transfer.errors import TransferError

_STATUS = re.compile(r"status code: (?P<status>\d{3})(?P<reason>[^:\n]*)(?P<rest>.*)", re.DOTALL)
_DEBUG = "\n\nDebug source:"
_CODE, _MESSAGE = re.compile(r"<Code>(.*?)</Code>"), re.compile(r"<Message>(.*?)</Message>", re.DOTALL)
_URL = re.compile(r"performing [A-Z]+ (\S+)")
_CERTIFICATE = re.compile(r"InvalidCertificate\(\s*(?:Other\(\s*OtherError\(\s*)?(\w+)")
_CERTIFICATE_REASONS = {
    "UnknownIssuer": "it is signed by an unknown CA; add the certificate of that CA to the location",
    "CaUsedAsEndEntity": "it is a CA certificate; the server needs a certificate that is signed by a CA",
    "NotValidForName": "it is not valid for the host name of the endpoint",
    "NotValidForNameContext": "it is not valid for the host name of the endpoint",
    "Expired": "it has expired",
    "ExpiredContext": "it has expired",
    "NotValidYet": "it is not valid yet; check the clock of the node",
    "NotValidYetContext": "it is not valid yet; check the clock of the node",
}
_CONNECTION_REASONS = {
    "dns error": "The host name {host} cannot be resolved.",
    "kind: Timeout": "{host} did not respond in time.",
    "kind: ConnectionRefused": "{host} refused the connection.",
    "tcp connect error": "Connecting to {host} failed.",
    "InvalidContentType": "{host} does not support HTTPS. Use an endpoint that starts with http://.",
    "BareRedirect": "{host} redirects to another region. Check the region and the endpoint.",
}
_METADATA_HOSTS = ("169.254.169.254", "169.254.170.2", "metadata.google.internal", "metadata")
_FULL = ("507", "QuotaExceeded", "XMinioStorageFull", "EntityTooLarge")


def translate(error: Exception, path: str, otherwise: ErrorCode) -> TransferError:
    """Return the error for an exception of the library."""
    text = str(error)
    summary, _, details = text.partition(_DEBUG)
    host = urlsplit(url.group(1)).hostname or "the server" if (url := _URL.search(summary)) else "the server"
    if host in _METADATA_HOSTS:
        message = "The location has no credentials, and this node has no instance credentials. Enter credentials."
        return TransferError("no-permission", message)
    if certificate := _CERTIFICATE.search(details):
        kind = certificate.group(1)
        reason = _CERTIFICATE_REASONS.get(kind, kind)
        return TransferError(otherwise, f"The certificate of {host} is not trusted: {reason}.")
    if response := _STATUS.search(summary):
        return _from_response(int(response["status"]), response["rest"], path, otherwise)
    for pattern, message in _CONNECTION_REASONS.items():
        if pattern in details:
            return TransferError(otherwise, message.format(host=host))
    if isinstance(error, FileNotFoundError):
        return TransferError("wrong-file-path", f"{path} does not exist.")
    if isinstance(error, exceptions.PermissionDeniedError | exceptions.UnauthenticatedError):
        return TransferError("no-permission", f"The credentials do not permit access to {path}.")
    return TransferError(otherwise, f"{summary.strip().rstrip('.')}.")


def _from_response(status: int, body: str, path: str, otherwise: ErrorCode) -> TransferError:
    code, text = _first(_CODE, body), _first(_MESSAGE, body)
    name = f"status {status}{', ' + code if code else ''}"
    reason = f": {text.rstrip('.')}" if text else ""
    if code in ("NoSuchBucket", "ContainerNotFound"):
        return TransferError("wrong-file-path", "The bucket or container does not exist.")
    if status == 404:
        return TransferError("wrong-file-path", f"{path} or its bucket does not exist ({name}){reason}.")
    if status in (401, 403):
        return TransferError("no-permission", f"The store denied access to {path} ({name}){reason}.")
    if str(status) in _FULL or code in _FULL:
        return TransferError(otherwise, f"The store is full ({name}){reason}.")
    return TransferError(otherwise, f"The store returned an error for {path} ({name}){reason}.")


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return " ".join(match.group(1).split())[:500] if match is not None else ""
