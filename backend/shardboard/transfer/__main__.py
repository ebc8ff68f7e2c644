"""`python -P -m shardboard.transfer`, in the directory of the transfer, with its specification (JSON) on standard input.

It reports in files of that directory (`specification.py`). SIGTERM stops the transfer. Secrets are neither in arguments nor in the
environment.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType

from pydantic import ValidationError

from shardboard.contract.transfers import TransferProgress
from shardboard.transfer import addresses
from shardboard.transfer.errors import STOPPED, TransferError
from shardboard.transfer.jobs import Job
from shardboard.transfer.reports import Reports
from shardboard.transfer.secrets import secrets_of
from shardboard.transfer.specification import Specification

STOP_SECONDS = 20
"""How long a stopped transfer may take to abort its upload. Afterwards the process ends anyway."""
POLL_SECONDS = 0.5


def main() -> int:
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    signal.signal(signal.SIGTERM, stop)
    try:
        specification = Specification.model_validate_json(sys.stdin.buffer.read())
    except ValidationError as error:
        sys.stderr.write(f"The specification is not valid: {error.error_count()} errors.\n")
        return 2
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())  # the specification is no longer in /proc/<pid>/fd/0
    addresses.forbid_connections()
    reports = Reports(Path.cwd(), secrets_of(specification))
    reports.progress(TransferProgress())
    job = Job(specification, reports.progress)
    worker = threading.Thread(target=_run, args=[job, reports], daemon=True)
    worker.start()
    _wait(worker, job, stopped)
    if worker.is_alive():
        reports.error("stopped", STOPPED)
        os._exit(1)  # the thread waits for a server that does not respond
    return 0


def _wait(worker: threading.Thread, job: Job, stopped: threading.Event) -> None:
    """Wait until the thread has ended, or has not ended in time after a signal."""
    while worker.is_alive() and not stopped.is_set():
        worker.join(POLL_SECONDS)
    for _ in range(int(STOP_SECONDS / POLL_SECONDS)):
        if not worker.is_alive():
            return
        job.stop()
        worker.join(POLL_SECONDS)


def _run(job: Job, reports: Reports) -> None:
    try:
        reports.result(job.run())
    except TransferError as error:
        reports.error(error.code, str(error))
    except Exception as error:
        reports.error("general-error", f"The transfer failed: {type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(main())
