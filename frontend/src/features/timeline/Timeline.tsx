/** Lanes with filters, charts above, and a panel with the details of the selected events or action. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { actionsQuery } from '@/api/cluster/actions';
import { nodesQuery } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import { useIncidents } from '@/api/failures/incidents';
import type { Action, LogEvent } from '@/api/types';
import { type CoarseWindow, useCoarseWindow } from '@/live/useCoarseWindow';
import { useEventHistory } from '@/live/useEventHistory';
import { useZone } from '@/ui/useZone';
import { ActionPanel } from './ActionPanel';
import { EventPanel } from './EventPanel';
import { isOnTimeline } from './eventTypes';
import { filterTimelineEvents, type TimelineFilter } from './filter';
import { windowWithIncidents } from './incidents/incidentEvents';
import { GAP, gapLane } from './lanes/gaps';
import { lanesOf } from './lanes/lanes';
import { Swimlanes } from './lanes/Swimlanes';
import classes from './Timeline.module.css';
import { TimelineFilters } from './TimelineFilters';
import { useGaps } from './useGaps';
import { useSelection } from './useSelection';

/** Width of a mark including its margin, as a share of a track of typical width. */
const MARK_SHARE = 1 / 30;

interface Props {
  filter: TimelineFilter;
  onFilter: (change: TimelineFilter) => void;
  chosen: string | undefined;
  onChoose: (id: string | undefined) => void;
  /** Charts that use the same time axis. */
  charts: ReactNode;
  /** Content if the window contains no events. */
  empty: ReactNode;
}

export function Timeline({ filter, onFilter, chosen, onChoose, charts, empty }: Props) {
  const window = useCoarseWindow();
  const loadedEvents = useEventHistory(window.from, window.to);
  // Events of an incident can lie outside the window. The panel lists them regardless of the zoom.
  const incidentWindow = windowWithIncidents(useIncidents() ?? [], window);
  const surroundingEvents = useEventHistory(incidentWindow.from, incidentWindow.to);
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(shownBdbsQuery).data;
  const actions = useQuery(actionsQuery).data;
  const [expanded, setExpanded] = useState<ReadonlySet<number>>(new Set());

  const events = useMemo(() => {
    const nodeOfShard = new Map(shards?.map((shard) => [shard.uid, Number(shard.node_uid)]));
    return filterTimelineEvents(loadedEvents ?? [], filter, (shard) => nodeOfShard.get(shard));
  }, [loadedEvents, filter, shards]);
  const lanes = useMemo(
    () =>
      lanesOf({
        events,
        actions: actionsIn(actions ?? [], window, filter),
        nodes: (nodes ?? []).filter(({ uid }) => filter.node === undefined || uid === filter.node),
        shards: shards ?? [],
        databases: new Map(bdbs?.map(({ uid, name }) => [uid, name])),
        expanded,
        gap: window.length * 1000 * MARK_SHARE,
      }),
    [events, actions, nodes, shards, bdbs, expanded, window, filter],
  );
  const zone = useZone();
  const gaps = useGaps(filter);
  const withGaps = useMemo(() => [gapLane(gaps, zone), ...lanes], [gaps, zone, lanes]);
  const selection = useSelection(chosen, loadedEvents ?? []);
  const close = () => onChoose(undefined);
  const toggle = (node: number) =>
    setExpanded((now) => {
      const next = new Set(now);
      if (!next.delete(node)) next.add(node);
      return next;
    });

  return (
    <div className={classes.layout} data-panel={isOpen(selection) || undefined}>
      <div className={classes.main}>
        <TimelineFilters
          filter={filter}
          onFilter={onFilter}
          nodes={nodes ?? []}
          bdbs={bdbs ?? []}
          events={events}
        />
        <div className={classes.charts}>{charts}</div>
        <Swimlanes
          lanes={withGaps}
          window={window}
          selected={chosen}
          onSelect={(id) => !id.startsWith(GAP) && onChoose(id)}
          onToggle={toggle}
        />
        {loadedEvents && !events.length && empty}
      </div>
      {selection.action ? (
        <ActionPanel
          action={selection.action}
          events={surroundingEvents ?? []}
          onSelect={onChoose}
          onClose={close}
        />
      ) : (
        <EventPanel
          chosen={selection.events}
          events={visible(surroundingEvents)}
          onSelect={onChoose}
          onClose={close}
        />
      )}
    </div>
  );
}

const visible = (loadedEvents: readonly LogEvent[] | undefined): LogEvent[] =>
  (loadedEvents ?? []).filter(isOnTimeline);

const isOpen = ({ events, action }: ReturnType<typeof useSelection>): boolean =>
  events.length > 0 || action !== undefined;

function actionsIn(
  actions: readonly Action[],
  { from, to }: CoarseWindow,
  { kind, node, bdb, severity }: TimelineFilter,
): Action[] {
  if (severity || node !== undefined || (kind && kind !== 'actions')) return [];
  return actions.filter(
    ({ creation_time: started, finish_time: finished, additional_info: info }) => {
      if (bdb !== undefined && !(info?.object_type === 'bdb' && info.object_uid === bdb))
        return false;
      return started <= to && (finished ?? Number.POSITIVE_INFINITY) >= from;
    },
  );
}
