"""Summary of an incident in plain text."""

from collections.abc import Mapping, Sequence

from shardboard.domain.failures.incident_start import ms
from shardboard.domain.failures.incidents import Incident, Loss
from shardboard.domain.text import plural

UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
MAX_NAMED = 3
"""Maximum number of databases that a headline names."""


def headline(incident: Incident, names: Mapping[int, str], now: int) -> str:
    """ "Node 2 was down for 41 s; demo was not served for 0.63 s; 2 shards failed over, promoted 0.22 s after detection; …" """
    return "; ".join([_beginning(incident, names, now), *consequences(incident, names)])


def title(incident: Incident, names: Mapping[int, str]) -> str:
    """ "Node 2", "Primary redis:5 of demo" """
    begin = incident.start
    if begin.shard_uid is None:
        return f"Node {begin.node_uid}"
    return f"Primary redis:{begin.shard_uid}" + "".join(f" of {_name(loss, names)}" for loss in incident.databases[:1])


def _beginning(incident: Incident, names: Mapping[int, str], now: int) -> str:
    lasted = span((incident.returned or now) - incident.start.at)
    words = "has been down for" if incident.returned is None else "was down for"
    return f"{title(incident, names)} {words} {lasted}"


def consequences(incident: Incident, names: Mapping[int, str]) -> list[str]:
    """Return the consequences as parts of a sentence. The parts do not depend on how long the incident has lasted."""
    parts = [*_served(incident, names), *_failovers(incident), *_resyncs(incident)]
    return [*parts, *(_data(incident) if incident.state == "over" else [])]


def _served(incident: Incident, names: Mapping[int, str]) -> list[str]:
    """Return the outages of clients, longest first."""
    waits = [loss for loss in incident.databases if loss.outage_summary.unserved_since_ms is not None]
    known = sorted(
        (loss for loss in incident.databases if loss.outage_summary.unserved_ms is not None),
        key=lambda loss: -(loss.outage_summary.unserved_ms or 0),
    )
    parts = [f"{_name(loss, names)} is not served" for loss in waits[:MAX_NAMED]]
    parts += [
        f"{_name(loss, names)} was not served for {span(loss.outage_summary.unserved_ms or 0)}"
        for loss in known[:MAX_NAMED]
    ]
    if others := len(waits[MAX_NAMED:]):
        parts.append(f"{plural(others, 'more database')} {'is' if others == 1 else 'are'} not served")
    if shorter := known[MAX_NAMED:]:
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
        after = span(max(0, last - incident.start.at))
        parts.append(f"{plural(len(incident.failovers), 'shard')} failed over, promoted {after} after detection")
    if incident.failed_failovers:
        parts.append("not all lost primaries could be replaced")
    elif not incident.failovers and incident.primaries:
        parts.append(f"{plural(incident.primaries, 'primary', 'primaries')} lost")
    return parts


def _resyncs(incident: Incident) -> list[str]:
    running = [event for event in incident.resyncs if event.details.get("open") and event.ended_at is None]
    if running:
        return [f"{plural(len(running), 'replica')} resyncing, {int(incident.percent or 0)} %"]
    if incident.state == "resyncing":
        return ["replicas about to resync"]
    took = resync_ms(incident)
    if took is None:
        return [f"{plural(incident.revived, 'replica')} back in sync"] if incident.revived else []
    synced = sum(event.details.get("outcome") != "lost" for event in incident.resyncs)
    return [f"{plural(synced, 'replica')} resynced in {span(took)}"]


def resync_ms(incident: Incident) -> int | None:
    """Return the time from the start of the first resync to the end of the last one; None without resyncs, or if one is running."""
    synced = [event for event in incident.resyncs if event.details.get("outcome") != "lost"]
    ends = [ms(event.ended_at) for event in synced if event.ended_at is not None]
    if not synced or len(ends) < len(synced):
        return None
    return max(ends) - min(ms(event.time) for event in synced)


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
    whole = round(seconds)
    place = next(index for index, (length, _) in enumerate(UNITS) if whole >= length)
    length, unit = UNITS[place]
    rest = whole % length // UNITS[place + 1][0] if place + 1 < len(UNITS) else 0
    return f"{whole // length} {unit}" + (f" {rest} {UNITS[place + 1][1]}" if rest else "")


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
    head = ", ".join(str(uid) for uid in uids[:-1])
    agents = f"agents on nodes {head} and" if head else "the agent on node"
    return f"{agents} {uids[-1]} reached none of its shards"
