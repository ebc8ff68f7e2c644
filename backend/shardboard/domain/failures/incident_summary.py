"""Summary of an incident in plain text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from shardboard.domain.failures.incident_start import ms
from shardboard.domain.failures.incidents import Incident, Loss
from shardboard.domain.text import plural

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
MAX_NAMED = 3
"""Maximum number of databases that an account names."""
MAX_TITLE = 60
"""Maximum number of characters of a title."""


@dataclass(frozen=True)
class Figure:
    """One of the four figures of an incident, and the events that it is computed from."""

    name: Literal["down", "unserved", "promoted", "in_sync"]
    ms: int | None
    """Duration; None while it is unknown."""
    events: list[int]
    count: int | None = None
    total: int | None = None


def title(incident: Incident, names: Mapping[int, str], now: int) -> str:
    """ "Node 2 was down for 41 s", "Primary redis:5 of demo was down for 3 s" """
    start = incident.start
    duration = span((incident.returned or now) - start.at)
    end = f" {'has been' if incident.returned is None else 'was'} down for {duration}"
    if start.shard_uid is None:
        return f"Node {start.node_uid}{end}"
    subject = f"Primary redis:{start.shard_uid}"
    name = "".join(f" of {_name(loss, names)}" for loss in incident.databases[:1])
    room = MAX_TITLE - len(subject) - len(end)
    return subject + (name if len(name) <= room else f"{name[: room - 1]}…") + end


def account(incident: Incident, names: Mapping[int, str]) -> str:
    """ "demo was not served for 0.63 s; 2 shards failed over, promoted 0.22 s after detection; …" """
    return "; ".join(consequences(incident, names))


def figures(incident: Incident) -> list[Figure]:
    """Return the downtime, the longest outage of clients, the time until the last promotion, and the time until all pairs were in
    sync. The times start with the detection, except that of clients."""
    start = incident.start
    unserved = [
        loss.outage_summary.unserved_ms for loss in incident.databases if loss.outage_summary.unserved_ms is not None
    ]
    promoted = [ms(event.time) for event in incident.failovers]
    return [
        Figure("down", None if incident.returned is None else incident.returned - start.at, [start.event.uid]),
        Figure("unserved", max(unserved, default=None), [start.first.uid]),
        Figure(
            "promoted",
            max(0, max(promoted) - start.at) if promoted else None,
            [event.uid for event in incident.failovers],
            len(incident.failovers),
            max(incident.primaries, len(incident.failovers)),
        ),
        Figure(
            "in_sync",
            None if incident.ended is None else incident.ended - start.at,
            [event.uid for event in incident.in_sync],
        ),
    ]


def consequences(incident: Incident, names: Mapping[int, str]) -> list[str]:
    """Return the consequences as parts of a sentence. The parts do not depend on how long the incident has lasted."""
    zone = [incident.zone.text] if incident.zone is not None else []
    parts = [*zone, *_served(incident, names), *_failovers(incident), *_resyncs(incident)]
    return [*parts, *(_data(incident) if incident.state == "over" else [])]


def _served(incident: Incident, names: Mapping[int, str]) -> list[str]:
    """Return the outages of clients, longest first."""
    open_losses = [loss for loss in incident.databases if loss.outage_summary.unserved_since_ms is not None]
    measured = sorted(
        (loss for loss in incident.databases if loss.outage_summary.unserved_ms is not None),
        key=lambda loss: -(loss.outage_summary.unserved_ms or 0),
    )
    parts = [f"{_name(loss, names)} is not served" for loss in open_losses[:MAX_NAMED]]
    parts += [
        f"{_name(loss, names)} was not served for {span(loss.outage_summary.unserved_ms or 0)}"
        for loss in measured[:MAX_NAMED]
    ]
    if others := len(open_losses[MAX_NAMED:]):
        parts.append(f"{plural(others, 'more database')} {'is' if others == 1 else 'are'} not served")
    if shorter := measured[MAX_NAMED:]:
        parts.append(
            f"{plural(len(shorter), 'more database')} for {span(shorter[0].outage_summary.unserved_ms or 0)} at most"
        )
    if incident.databases and not parts and incident.state != "down":
        parts.append("it is unknown how long clients waited")
    failed, lost = (
        sum(getattr(loss.outage_summary, name) for loss in incident.databases) for name in ("failed", "lost")
    )
    if failed or lost:
        counts = [plural(failed, "request") + " failed"] * bool(failed)
        counts += [f"{lost:,} lost without a reply"] * bool(lost)
        parts.append(", ".join(counts))
    return parts


def _name(loss: Loss, names: Mapping[int, str]) -> str:
    return names.get(loss.uid, f"database {loss.uid}")


def _failovers(incident: Incident) -> list[str]:
    parts = []
    if incident.failovers:
        last = max(ms(event.time) for event in incident.failovers)
        delay = span(max(0, last - incident.start.at))
        count = len(incident.failovers)
        who = plural(count, "shard")
        if count < incident.primaries:
            who = f"{count} of {plural(incident.primaries, 'lost primary', 'lost primaries')}"
        parts.append(f"{who} failed over, promoted {delay} after detection")
    if incident.failed_failovers:
        parts.append("not all lost primaries could be replaced")
    elif not incident.failovers and incident.primaries:
        parts.append(f"{plural(incident.primaries, 'primary', 'primaries')} lost")
    return parts


def _resyncs(incident: Incident) -> list[str]:
    open_resyncs = [event for event in incident.resyncs if event.details.get("open") and event.ended_at is None]
    if open_resyncs:
        return [f"{plural(len(open_resyncs), 'replica')} resyncing, {int(incident.percent or 0)}%"]
    if incident.state == "resyncing":
        return ["replicas about to resync" if not incident.resyncs else "not all replicas are in sync"]
    duration = resync_ms(incident)
    if duration is None:
        return [f"{plural(incident.revived, 'replica')} back in sync"] if incident.revived else []
    completed_count = sum(event.details.get("outcome") != "lost" for event in incident.resyncs)
    return [f"{plural(completed_count, 'replica')} resynced in {span(duration)}"]


def resync_ms(incident: Incident) -> int | None:
    """Return the time from the start of the first resync to the end of the last one; None without resyncs, or if one is running."""
    completed = [event for event in incident.resyncs if event.details.get("outcome") != "lost"]
    end_times = [ms(event.ended_at) for event in completed if event.ended_at is not None]
    if not completed or len(end_times) < len(completed):
        return None
    return max(end_times) - min(ms(event.time) for event in completed)


def _data(incident: Incident) -> list[str]:
    if not incident.failovers:
        return []
    if incident.bytes_behind is None:
        return ["it is unknown how far the promoted replicas were behind"]
    # Compared with the last offset that the primaries reported, which can be up to a second older than the failure.
    if not incident.bytes_behind:
        return ["no known data loss (replicas had reached the primaries' last reported offset)"]
    return [f"{size(incident.bytes_behind)} lost (up to the primaries' last reported offset)"]


def span(milliseconds: float) -> str:
    """Return a duration such as 0.39 s, 4.2 s, 41 s, 2 min 3 s."""
    seconds = max(0.0, milliseconds / 1000)
    if seconds < 0.995:
        return f"{round(seconds, 2):g} s"
    if seconds < 9.95:
        return f"{round(seconds, 1):g} s"
    whole_seconds = round(seconds)
    index = next(index for index, (length, _) in enumerate(UNITS) if whole_seconds >= length)
    length, unit = UNITS[index]
    remainder = whole_seconds % length // UNITS[index + 1][0] if index + 1 < len(UNITS) else 0
    return f"{whole_seconds // length} {unit}" + (f" {remainder} {UNITS[index + 1][1]}" if remainder else "")


def size(count: float) -> str:
    """Return a size such as 2 KiB, 1.8 GiB."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1024
    return f"{count:.3g} TiB"


def nodes(uids: Sequence[int]) -> str:
    """ "agents on nodes 1 and 3 reached none of its shards" """
    if not uids:
        return "the console"
    first_uids = ", ".join(str(uid) for uid in uids[:-1])
    agents = f"agents on nodes {first_uids} and" if first_uids else "the agent on node"
    return f"{agents} {uids[-1]} reached none of its shards"
