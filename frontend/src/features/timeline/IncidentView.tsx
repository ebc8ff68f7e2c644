/** One outage on one page: what happened in a sentence, on a time axis, in tables, and as a report to take along. */
import { Button } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { bdbsQuery } from '@/api/bdbs';
import { nodesQuery } from '@/api/nodes';
import { sessionQuery } from '@/api/session';
import { shardsQuery } from '@/api/shards';
import { copyText } from '@/lib/clipboard';
import { download } from '@/lib/download';
import { useWindow } from '@/live/useWindow';
import { intervalOf, SpanAxis } from '@/ui/chart/spanAxis';
import { TimeAxisProvider } from '@/ui/chart/TimeAxisContext';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import { StatusIcon, type Tone } from '@/ui/Status';
import { EventPanel } from './EventPanel';
import { IncidentTables } from './IncidentTables';
import type { Incident } from './incident';
import { lanesOf } from './lanes';
import { markdownReport } from './report';
import { Swimlanes } from './Swimlanes';
import classes from './timeline.module.css';
import { useIncident } from './useIncident';
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
  const { incident, now } = useIncident(uid);
  if (incident === undefined) return <PageSkeleton />;
  if (incident === null) {
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
        <Report incident={incident} now={now} />
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
  const interval = intervalOf(incident.from, incident.end ?? now);
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

function Report({ incident, now }: { incident: Incident; now: number }) {
  const [copied, setCopied] = useState(false);
  const cluster = useQuery(sessionQuery).data?.cluster_name ?? '';
  const bdbs = useQuery(bdbsQuery).data;
  const text = () =>
    markdownReport(incident, {
      cluster,
      names: new Map(bdbs?.map(({ uid, name }) => [uid, name])),
      url: location.origin + location.pathname,
      now,
    });
  const copy = async () => {
    await copyText(text());
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <div className={classes.buttons}>
      <Button
        variant="default"
        leftSection={copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
        onClick={copy}
      >
        {copied ? 'Copied' : 'Copy as Markdown'}
      </Button>
      <Button
        variant="default"
        leftSection={<IconDownload size={14} />}
        onClick={() => download(`incident-${incident.event.uid}.md`, text())}
      >
        Download
      </Button>
    </div>
  );
}
