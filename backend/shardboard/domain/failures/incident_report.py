"""Report of one incident in Markdown, with all figures and with times in UTC."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from shardboard.domain.failures.incident_start import LogEvent, ms
from shardboard.domain.failures.incident_summary import Figure, account, figures, nodes, resync_ms, size, span, title
from shardboard.domain.failures.incidents import Incident, Loss
from shardboard.domain.text import markdown_text, plural

PHASES = {"load": "loading", "catching_up": "catching up", "in_sync": "in sync"}

FIGURES = {
    "down": "Down for",
    "unserved": "Not served for",
    "promoted": "Promoted after detection",
    "in_sync": "In sync after detection",
}


def markdown(incident: Incident, *, cluster: str, names: Mapping[int, str], url: str, now: int) -> str:
    """Return the report. `names` are database names by uid, `url` is the address of the request, `now` is milliseconds since
    1970."""
    lines = [
        f"# {markdown_text(title(incident, names, now))}",
        "",
        *_table([FIGURES[each.name] for each in figures(incident)], [[_figure(each) for each in figures(incident)]]),
        f"{markdown_text(account(incident, names) or 'no known effects')}.",
        "",
        *_table(["Figure", "Value"], _summary(incident, cluster, now)),
        *_zone(incident),
        *_section(
            "Databases",
            [
                "Database",
                "Slots",
                "Not served for",
                "Served again",
                "Promoted after detection",
                "Failed",
                "Delayed",
                "Lost",
            ],
            [_database(incident, each, names) for each in incident.databases],
            "No database lost a primary.",
        ),
        *_section(
            "Failovers",
            ["At", "Database", "Failover", "After detection", "Took", "Behind", "Method"],
            [_failover(incident, event, names) for event in incident.failovers],
            "No shard failed over.",
        ),
        *_section(
            "Resyncs",
            ["Replica", "From", "Started", "Ended", "Took", "Received", "Phases"],
            [_resync(event, now) for event in incident.resyncs],
            _no_resync(incident),
        ),
        *_section(
            "Events",
            ["After", "At", "Ended", "Severity", "What happened"],
            [_event(incident, event) for event in incident.timeline],
            "",
        ),
        f"Written {utc(now)} by Shardboard from {markdown_text(url)}",
    ]
    return "\n".join(lines) + "\n"


def _figure(figure: Figure) -> str:
    text = "–" if figure.ms is None else span(figure.ms)
    return text if figure.total is None else f"{text} ({figure.count} of {figure.total})"


def _summary(incident: Incident, cluster: str, now: int) -> list[list[str]]:
    start = incident.start
    details = start.event.details
    rows = [["Cluster", cluster]] if cluster else []
    rows += [["Node", str(start.node_uid)]]
    rows += [["Shard", f"redis:{start.shard_uid}"]] if start.shard_uid is not None else []
    rows += [
        ["Down since", utc(start.at)],
        ["Back", "not yet" if incident.returned is None else utc(incident.returned)],
        ["Over", "not yet" if incident.ended is None else utc(incident.ended)],
        ["Cause", cause(incident)],
    ]
    if start.kind == "node_down":
        if details.get("detected_ms") is not None:
            rows.append(["Detected after", span(details["detected_ms"])])
        rows.append(["Seen by", nodes(details.get("witnesses", []))])
        copy_counts = [plural(incident.primaries, "primary", "primaries"), plural(incident.replicas, "replica")]
        rows.append(["Shards lost", ", ".join(copy_counts)])
    rows.append(
        ["Down for" if incident.returned is None else "Back after", span((incident.returned or now) - start.at)]
    )
    duration = resync_ms(incident)
    rows += [["Resynced in", span(duration)]] if duration is not None else []
    return rows + (
        [["Received in resyncs", size(received)]] if (received := incident.bytes_resynced) is not None else []
    )


def _zone(incident: Incident) -> list[str]:
    if incident.zone is None:
        return []
    rows = [
        [
            str(event.node_uid),
            utc(ms(event.time)),
            "not yet" if event.ended_at is None else utc(ms(event.ended_at)),
            "–" if event.details.get("detected_ms") is None else span(event.details["detected_ms"]),
            str(event.details.get("primaries", "–")),
            str(event.details.get("replicas", "–")),
        ]
        for event in incident.zone.failures
    ]
    head = ["Node", "Down since", "Back", "Detected after", "Primaries lost", "Replicas lost"]
    return _section(f"Zone {markdown_text(incident.zone.rack_id)}", head, rows, "")


def cause(incident: Incident) -> str:
    if incident.cause is None:
        return "unknown to the console"
    event = incident.cause.event
    return f"drill requested by {event.originator}" if incident.cause.kind == "drill" else event.description.rstrip(".")


def _database(incident: Incident, loss: Loss, names: Mapping[int, str]) -> list[str]:
    account = loss.outage_summary
    unserved_text = "unknown" if account.unserved_ms is None else span(account.unserved_ms)
    if account.unserved_since_ms is not None:
        unserved_text = f"since {utc(account.unserved_since_ms)}"
    served_again = "–" if account.served_again_ms is None else utc(account.served_again_ms)
    delay_text = "–" if loss.promoted_after_ms is None else span(loss.promoted_after_ms)
    counts = [f"{count:,}" for count in (account.failed, account.delayed, account.lost)]
    return [names.get(loss.uid, str(loss.uid)), loss.slots or "–", unserved_text, served_again, delay_text, *counts]


def _failover(incident: Incident, event: LogEvent, names: Mapping[int, str]) -> list[str]:
    details = event.details
    seconds = details.get("seconds")
    return [
        utc(ms(event.time)),
        names.get(event.bdb_uid or 0, str(event.bdb_uid or "")),
        f"redis:{details.get('lost')} → redis:{details.get('promoted')}",
        span(max(0, ms(event.time) - incident.start.at)),
        "–" if seconds is None else span(1000 * seconds),
        _bytes_behind_text(details.get("bytes_behind")),
        str(details.get("method", "")),
    ]


def _bytes_behind_text(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,} B" if count else "none (by last reported offset)"


def _resync(event: LogEvent, now: int) -> list[str]:
    details = event.details
    end_text = f"{int(details.get('percent') or 0)}%" if event.ended_at is None else utc(ms(event.ended_at))
    phases = [
        f"{PHASES.get(phase['name'], phase['name'])} {span(_moment(phase['ended'], now) - _moment(phase['started'], now))}"
        for phase in details.get("phases", [])
        if phase["name"] != "in_sync"  # a state, not a phase of work
    ]
    return [
        f"redis:{event.shard_uid}",
        f"redis:{details.get('primary')}",
        utc(ms(event.time)),
        end_text + (" (not in sync)" if details.get("outcome") == "lost" else ""),
        span((now if event.ended_at is None else ms(event.ended_at)) - ms(event.time)),
        "–" if details.get("bytes") is None else size(details["bytes"]),
        ", ".join(phases),
    ]


def _moment(text: str | None, now: int) -> int:
    return now if text is None else ms(datetime.fromisoformat(text))


def _no_resync(incident: Incident) -> str:
    if not incident.revived:
        return "No replica was resynced."
    return f"Replicas back in sync: {incident.revived}. No resync took long enough to be recorded."


def _event(incident: Incident, event: LogEvent) -> list[str]:
    elapsed = ms(event.time) - incident.start.at
    end_text = "" if event.ended_at is None else utc(ms(event.ended_at))
    if event.details.get("open") and event.ended_at is None:
        end_text = "not yet"
    return [
        ("−" if elapsed < 0 else "+") + span(abs(elapsed)),
        utc(ms(event.time)),
        end_text,
        event.severity,
        event.description,
    ]


def utc(milliseconds: int) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=milliseconds)
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03d} UTC"


def _section(heading: str, head: Sequence[str], rows: Sequence[Sequence[str]], none: str) -> list[str]:
    return [f"## {heading}", "", *(_table(head, rows) if rows else [none, ""])]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows), ""]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"
