/**
 * Page of an incident: summary, charts and lanes on the time axis of the incident, tables, and a
 * report to download.
 */
import { Button, NativeSelect } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { nodesQuery } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import { fetchReport, incidentQuery, reportPath } from '@/api/failures/incidents';
import { ApiError, messageOf } from '@/api/http';
import type { IncidentWithEvents as Incident } from '@/api/types';
import { copyText } from '@/lib/clipboard';
import { useCoarseWindow } from '@/live/useCoarseWindow';
import { useNow } from '@/ui/Ago';
import { intervalOf, SpanAxis } from '@/ui/chart/spanAxis';
import { TimeAxisProvider } from '@/ui/chart/TimeAxisContext';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import { StatusIcon, type Tone } from '@/ui/Status';
import { EventPanel } from '../EventPanel';
import { lanesOf } from '../lanes/lanes';
import { Swimlanes } from '../lanes/Swimlanes';
import classes from '../Timeline.module.css';
import { useSelection } from '../useSelection';
import { IncidentTables } from './IncidentTables';
import { accountOf, databaseName, figureTexts, incidentTitle } from './incidentText';

interface Props {
  uid: number;
  /** Render charts of a database, or of the cluster if undefined, on the time axis of the incident. */
  charts: (bdb: number | undefined) => ReactNode;
  /** Render the recovery actions that are available for the databases. */
  renderActions: (databases: number[]) => ReactNode;
}

const TONES: Record<Incident['state'], Tone> = {
  down: 'broken',
  resyncing: 'progress',
  over: 'ok',
};

export function IncidentView({ uid, charts, renderActions }: Props) {
  const now = useNow();
  const [chosen, choose] = useState<string>();
  const { data: incident, error } = useQuery(incidentQuery(uid));
  if (!incident) {
    if (!error) return <PageSkeleton />;
    if (!(error instanceof ApiError && error.status === 404))
      return <EmptyState title="The incident could not be loaded">{messageOf(error)}</EmptyState>;
    return (
      <EmptyState title={`Incident ${uid} not found`}>
        <span>
          The event log keeps a limited number of events. The events of this incident may have been
          removed.
        </span>
        <Link to="/activity/timeline">Open the timeline</Link>
      </EmptyState>
    );
  }
  return (
    <div className={classes.incident}>
      <header className={classes.incidentHeader}>
        <h1>
          <StatusIcon tone={TONES[incident.state]} size={20} />
          <span>{incidentTitle(incident, now)}</span>
        </h1>
        <Report uid={incident.uid} />
      </header>
      <IncidentFigures incident={incident} now={now} onSelect={choose} />
      {incident.summary.length > 0 && <p>{accountOf(incident)}</p>}
      {renderActions(incident.databases.map(({ uid }) => uid))}
      <IncidentTimeline
        incident={incident}
        now={now}
        charts={charts}
        chosen={chosen}
        onChoose={choose}
      />
      <IncidentTables incident={incident} now={now} />
    </div>
  );
}

/** Figures of an incident. Each selects the events of the lanes that it is computed from. */
export function IncidentFigures({
  incident,
  now,
  onSelect,
}: {
  incident: Incident;
  now: number;
  onSelect: (events: string) => void;
}) {
  return (
    <ul className={classes.figures} aria-label="Figures">
      {figureTexts(incident, now).map(({ label, value, unknown, note, events }) => (
        <li key={label}>
          <button
            type="button"
            disabled={!events}
            title={events ? 'Select the events on the timeline' : undefined}
            onClick={() => onSelect(events)}
          >
            <span className="dim small">{label}</span>
            <span>
              {value === undefined ? (
                <Dash reason={unknown} />
              ) : (
                <strong className="num">{value}</strong>
              )}{' '}
              <span className="dim small">{note}</span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

interface Selecting {
  /** Uids of the selected events, separated by commas. */
  chosen: string | undefined;
  onChoose: (events: string | undefined) => void;
}

function IncidentTimeline({
  incident,
  now,
  charts,
  ...selecting
}: { incident: Incident; now: number; charts: Props['charts'] } & Selecting) {
  const interval = intervalOf(incident.began_ms, incident.ended_ms ?? now);
  const [axis] = useState(() => new SpanAxis(interval));
  const { from, to } = interval;
  useEffect(() => axis.follow({ from, to }), [axis, from, to]);
  return (
    <TimeAxisProvider value={axis}>
      <Charts databases={incident.databases} of={charts} />
      <Lanes incident={incident} {...selecting} />
    </TimeAxisProvider>
  );
}

const CLUSTER = 'cluster';

/** Charts of the selected database; by default, of the database that was unavailable for the longest time. */
function Charts({ databases, of }: { databases: Incident['databases']; of: Props['charts'] }) {
  const [chosen, choose] = useState<string>();
  // Metrics of deleted databases no longer exist.
  const existing = databases
    .filter(({ name }) => name !== undefined)
    .sort((a, b) => (b.unserved_ms ?? -1) - (a.unserved_ms ?? -1));
  const value = chosen ?? String(existing[0]?.uid ?? CLUSTER);
  return (
    <>
      {existing.length > 0 && (
        <NativeSelect
          size="xs"
          className={classes.chartsOf}
          label="Charts of"
          value={value}
          onChange={(event) => choose(event.currentTarget.value)}
          data={[
            ...existing.map((database) => ({
              value: String(database.uid),
              label: databaseName(database),
            })),
            { value: CLUSTER, label: 'Entire cluster' },
          ]}
        />
      )}
      <div className={classes.charts}>{of(value === CLUSTER ? undefined : Number(value))}</div>
    </>
  );
}

function Lanes({ incident, chosen, onChoose }: { incident: Incident } & Selecting) {
  const window = useCoarseWindow();
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(shownBdbsQuery).data;
  const [collapsed, setCollapsed] = useState<ReadonlySet<number>>(new Set());
  const { events } = incident;
  const lanes = useMemo(() => {
    const all = (nodes ?? []).map(({ uid }) => uid);
    const expanded = new Set(all.filter((uid) => !collapsed.has(uid)));
    const gap = (window.length * 1000) / 30;
    const input = {
      events,
      actions: [],
      nodes: nodes ?? [],
      shards: shards ?? [],
      databases: new Map(bdbs?.map(({ uid, name }) => [uid, name])),
      expanded,
      gap,
    };
    // Omit nodes without events. `open` is not null if shards of the node have events.
    return lanesOf(input).filter(({ items, isExpanded }) => items.length || isExpanded !== null);
  }, [events, nodes, shards, bdbs, collapsed, window]);
  const selection = useSelection(chosen, events);
  const toggle = (node: number) =>
    setCollapsed((now) => {
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
        onSelect={onChoose}
        onToggle={toggle}
      />
      <EventPanel
        chosen={selection.events}
        events={events}
        onSelect={onChoose}
        onClose={() => onChoose(undefined)}
      />
    </div>
  );
}

function Report({ uid }: { uid: number }) {
  const [message, setMessage] = useState<string>();
  const copy = async () => {
    try {
      await copyText(await fetchReport(uid));
      setMessage('Copied');
    } catch (error) {
      setMessage(messageOf(error));
    }
    setTimeout(() => setMessage(undefined), 1_500);
  };
  return (
    <div className={classes.buttons}>
      <Button
        variant="default"
        leftSection={message === 'Copied' ? <IconCheck size={14} /> : <IconCopy size={14} />}
        onClick={copy}
      >
        {message ?? 'Copy as Markdown'}
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
