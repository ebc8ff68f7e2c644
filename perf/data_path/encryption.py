"""Encryption of the files of backups: CPU time for each megabyte, without the mover and the location."""

import os
import time
from collections.abc import Iterable
from statistics import median

from perf.kit.mixed_data import MB
from perf.kit.report import Report
from perf.kit.scale import scaled
from shardboard.kit import age, age_keys
from shardboard.transfer.movers import READ_BYTES
from shardboard.transfer.stores.store import PART_BYTES

SIZE = scaled(512, 32) * MB
ROUNDS = scaled(5, 1)


def encryption(report: Report) -> None:
    """Encrypt parts as movers write them, and decrypt parts as stores read them."""
    identity = age_keys.generate_identity()
    part = os.urandom(READ_BYTES)
    encrypted, decrypted = [], []
    for _ in range(ROUNDS):
        parts = [part] * (SIZE // len(part))
        encrypted.append(_rate(age.encrypt(parts, [age_keys.recipient_of(identity)])))
        file = b"".join(age.encrypt(parts, [age_keys.recipient_of(identity)]))
        stored = [file[start : start + PART_BYTES] for start in range(0, len(file), PART_BYTES)]
        decrypted.append(_rate(age.decrypt(stored, [identity])))
    report.minimum("encryption of a backup, for each second of CPU time", median(encrypted), 800, "MB/s")
    report.minimum("decryption, for each second of CPU time", median(decrypted), 500, "MB/s")


def _rate(parts: Iterable[bytes]) -> float:
    """Consume all parts. Return the megabytes for each second of CPU time."""
    start = time.process_time()
    size = sum(map(len, parts))
    return size / MB / (time.process_time() - start)
