"""Two-factor authentication: in addition to the password, a code from an authenticator app (TOTP, RFC 6238: SHA-1, 6 digits, 30 s).

Users who have lost their phone log in with a recovery code, each of which is valid once, or ask an administrator to disable their
two-factor authentication.
"""

import base64
import binascii
import hmac
import secrets
import time

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP

from shardboard.errors import NotAcceptable
from shardboard.services.access import passwords
from shardboard.state.access.users import User

ISSUER = "Shardboard"
RECOVERY_CODES = 10
_STEP_SECONDS = 30
_DIGITS = 6
_SECRET_BYTES = 20
_RECOVERY_BYTES = 10
_MIN_BYTES, _MAX_BYTES = 16, 64


def new_secret() -> str:
    """Return a new secret in Base32, the format in which users can type it into an app."""
    return base64.b32encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def uri(secret: str, username: str, cluster_name: str) -> str:
    """Return the URI for the QR code that the app scans."""
    return _totp(secret).get_provisioning_uri(username, f"{ISSUER} {cluster_name}")


def is_code_valid(user: User, code: str, *, recovery_only: bool = False) -> bool:
    """Return whether `use` would accept the code now."""
    if _recovery(user, code) is not None:
        return True
    return not recovery_only and _step(user.totp_secret, code, user.totp_step) is not None


def consume_code(user: User, code: str) -> bool:
    """Accept the code and invalidate it. The caller must have locked the user's row."""
    if (recovery := _recovery(user, code)) is not None:
        user.recovery_codes = [each for each in user.recovery_codes if each != recovery]
        return True
    step = _step(user.totp_secret, code, user.totp_step)
    if step is None:
        return False
    user.totp_step = step
    return True


def verify_enrollment(secret: str, code: str) -> int:
    """Check that the app has the secret, and return the time step of its code. Raises NotAcceptable."""
    try:
        is_secret = _MIN_BYTES <= len(base64.b32decode(secret, casefold=True)) <= _MAX_BYTES
    except (binascii.Error, ValueError):
        is_secret = False
    if not is_secret:
        raise NotAcceptable("config_error", "The secret must be the generated one, in Base32.", field="secret")
    step = _step(secret, code, 0)
    if step is None:
        message = "The code is wrong. Check that the clock of the phone is correct, then enter the next code."
        raise NotAcceptable("wrong_code", message, field="code")
    return step


def enable(user: User, secret: str, code: str) -> list[str]:
    """Enable two-factor authentication, after `code` has proved that the app has the secret. Returns new recovery codes."""
    step = verify_enrollment(secret, code)
    codes = [_grouped(secrets.token_bytes(_RECOVERY_BYTES)) for _ in range(RECOVERY_CODES)]
    user.totp_secret, user.totp_step, user.recovery_codes = secret, step, [passwords.digest(each) for each in codes]
    return codes


def disable(user: User) -> None:
    user.totp_secret, user.totp_step, user.recovery_codes = None, 0, []


def _step(secret: str | None, code: str, last: int) -> int | None:
    """Return the time step of the code: the current, previous or next one, to allow for clock differences, if after `last`."""
    digits = code.replace(" ", "")
    if secret is None or len(digits) != _DIGITS or not digits.isascii():
        return None
    totp, now = _totp(secret), int(time.time()) // _STEP_SECONDS
    matching = [
        step
        for step in (now - 1, now, now + 1)
        if hmac.compare_digest(totp.generate(step * _STEP_SECONDS), digits.encode())
    ]
    return next((step for step in matching if step > last), None)


def _recovery(user: User, code: str) -> str | None:
    """Return the hash of the recovery code that was sent, if it is valid."""
    code_digest = passwords.digest(code.strip().lower())
    return code_digest if user.totp_secret is not None and code_digest in user.recovery_codes else None


def _grouped(value: bytes) -> str:
    text = base64.b32encode(value).decode().lower()
    return "-".join(text[index : index + 4] for index in range(0, len(text), 4))


def _totp(secret: str) -> TOTP:
    return TOTP(base64.b32decode(secret, casefold=True), _DIGITS, SHA1(), _STEP_SECONDS)  # noqa: S303
