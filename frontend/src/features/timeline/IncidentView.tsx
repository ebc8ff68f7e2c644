/** One outage on one page: what happened in a sentence, on a time axis, in tables, and as a report to take along. */
import { Button } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { ApiError, messageOf } from '@/api/http';
import { fetchReport, incidentQuery, reportPath } from '@/api/incidents';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';
import type { IncidentInFull as Incident } from '@/api/types';
import { copyText } from '@/lib/clipboard';
import { useWindow } from '@/live/useWindow';
import { useNow } from '@/ui/Ago';
import { intervalOf, SpanAxis } from '@/ui/chart/spanAxis';
import { TimeAxisProvider } from '@/ui/chart/TimeAxisContext';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import { StatusIcon, type Tone } from '@/ui/Status';
import { EventPanel } from './EventPanel';
import { IncidentTables } from './IncidentTables';
import { lanesOf } from './lanes';
import { Swimlanes } from './Swimlanes';
import classes from './timeline.module.css';
import { useSelection } from './useSelection';
import { headline } from './words';

interface Props {
  uid: number;
  /** Drawn on the axis of the incident. */
  charts: ReactNode;
}

const TONES: Record<Incident['state'], Tone> = {
  down: 'broken',
  resyncing: 'progress',
  over: 'ok',
};

export function IncidentView({ uid, charts }: Props) {
  const now = useNow();
  const { data: incident, error } = useQuery(incidentQuery(uid));
  if (!incident) {
    if (!error) return <PageSkeleton />;
    if (!(error instanceof ApiError && error.status === 404))
      return <EmptyState title="The incident could not be read">{messageOf(error)}</EmptyState>;
    return (
      <EmptyState title={`There is no incident ${uid}`}>
        <span>The log keeps a limited number of events; it may be too old.</span>
        <Link to="/timeline">Timeline</Link>
      </EmptyState>
    );
  }
  return (
    <div className={classes.incident}>
      <header className={classes.incidentHead}>
        <h1>
          <StatusIcon tone={TONES[incident.state]} size={20} />
          <span>{headline(incident, now)}</span>
        </h1>
        <Report uid={incident.uid} />
      </header>
      <OnOwnAxis incident={incident} now={now} charts={charts} />
      <IncidentTables incident={incident} now={now} />
    </div>
  );
}

function OnOwnAxis({
  incident,
  now,
  charts,
}: {
  incident: Incident;
  now: number;
  charts: ReactNode;
}) {
  const interval = intervalOf(incident.began_ms, incident.ended_ms ?? now);
  const [axis] = useState(() => new SpanAxis(interval));
  const { from, to } = interval;
  useEffect(() => axis.follow({ from, to }), [axis, from, to]);
  return (
    <TimeAxisProvider value={axis}>
      <div className={classes.charts}>{charts}</div>
      <Lanes incident={incident} />
    </TimeAxisProvider>
  );
}

function Lanes({ incident }: { incident: Incident }) {
  const window = useWindow();
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
  const [chosen, choose] = useState<string>();
  const { events } = incident;
  const lanes = useMemo(() => {
    const all = (nodes ?? []).map(({ uid }) => uid);
    const expanded = new Set(all.filter((uid) => !folded.has(uid)));
    const gap = (window.length * 1000) / 30;
    const input = { events, actions: [], nodes: nodes ?? [], shards: shards ?? [], expanded, gap };
    // Nodes that took no part say nothing here; `open` tells of shards below.
    return lanesOf(input).filter(({ items, open }) => items.length || open !== null);
  }, [events, nodes, shards, folded, window]);
  const selection = useSelection(chosen, events);
  const toggle = (node: number) =>
    setFolded((now) => {
      const next = new Set(now);
      if (!next.delete(node)) next.add(node);
      return next;
    });
  return (
    <div className={classes.layout} data-panel={selection.events.length > 0 || undefined}>
      <Swimlanes
        lanes={lanes}
        window={window}
        selected={chosen}
        onSelect={choose}
        onToggle={toggle}
      />
      <EventPanel
        chosen={selection.events}
        events={events}
        onSelect={choose}
        onClose={() => choose(undefined)}
      />
    </div>
  );
}

function Report({ uid }: { uid: number }) {
  const [said, setSaid] = useState<string>();
  const copy = async () => {
    try {
      await copyText(await fetchReport(uid));
      setSaid('Copied');
    } catch (error) {
      setSaid(messageOf(error));
    }
    setTimeout(() => setSaid(undefined), 1_500);
  };
  return (
    <div className={classes.buttons}>
      <Button
        variant="default"
        leftSection={said === 'Copied' ? <IconCheck size={14} /> : <IconCopy size={14} />}
        onClick={copy}
      >
        {said ?? 'Copy as Markdown'}
      </Button>
      <Button
        component="a"
        href={reportPath(uid)}
        download={`incident-${uid}.md`}
        variant="default"
        leftSection={<IconDownload size={14} />}
      >
        Download
      </Button>
    </div>
  );
}
