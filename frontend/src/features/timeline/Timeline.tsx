/** The lanes with their filters, and what is chosen beside them. A page puts a chart above them. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { actionsQuery } from '@/api/actions';
import { bdbsQuery } from '@/api/bdbs';
import { useIncidents } from '@/api/incidents';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';
import type { Action, LogEvent } from '@/api/types';
import { useStory } from '@/live/useStory';
import { type CoarseWindow, useWindow } from '@/live/useWindow';
import { ActionPanel } from './ActionPanel';
import { EventPanel } from './EventPanel';
import { narrow, type TimelineFilter } from './filter';
import { reachOf } from './incident';
import { isTold } from './kinds';
import { lanesOf } from './lanes';
import { Swimlanes } from './Swimlanes';
import { TimelineFilters } from './TimelineFilters';
import classes from './timeline.module.css';
import { useSelection } from './useSelection';

/** A mark and its room, as a part of a track of ordinary width. */
const MARK_SHARE = 1 / 30;

interface Props {
  filter: TimelineFilter;
  onFilter: (change: TimelineFilter) => void;
  chosen: string | undefined;
  onChoose: (id: string | undefined) => void;
  /** Drawn on the same axis. */
  charts: ReactNode;
  /** Shown when nothing happened in the window. */
  empty: ReactNode;
}

export function Timeline({ filter, onFilter, chosen, onChoose, charts, empty }: Props) {
  const window = useWindow();
  const story = useStory(window.from, window.to);
  // What an outage in the window brought about may lie beside it; a zoom does not change what happened.
  const reach = reachOf(useIncidents() ?? [], window);
  const around = useStory(reach.from, reach.to);
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(bdbsQuery).data;
  const actions = useQuery(actionsQuery).data;
  const [expanded, setExpanded] = useState<ReadonlySet<number>>(new Set());

  const events = useMemo(() => {
    const home = new Map(shards?.map((shard) => [shard.uid, Number(shard.node_uid)]));
    return narrow(story ?? [], filter, (shard) => home.get(shard));
  }, [story, filter, shards]);
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
  const selection = useSelection(chosen, story ?? []);
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
          lanes={lanes}
          window={window}
          selected={chosen}
          onSelect={onChoose}
          onToggle={toggle}
        />
        {story && !events.length && empty}
      </div>
      {selection.action ? (
        <ActionPanel
          action={selection.action}
          events={around ?? []}
          onSelect={onChoose}
          onClose={close}
        />
      ) : (
        <EventPanel
          chosen={selection.events}
          events={told(around)}
          onSelect={onChoose}
          onClose={close}
        />
      )}
    </div>
  );
}

const told = (story: readonly LogEvent[] | undefined): LogEvent[] => (story ?? []).filter(isTold);

const isOpen = ({ events, action }: ReturnType<typeof useSelection>): boolean =>
  events.length > 0 || action !== undefined;

function actionsIn(
  actions: readonly Action[],
  { from, to }: CoarseWindow,
  { kind, node, bdb, severity }: TimelineFilter,
): Action[] {
  if (severity || node !== undefined || (kind && kind !== 'actions')) return [];
  return actions.filter(({ creation_time: begin, finish_time: end, additional_info: info }) => {
    if (bdb !== undefined && !(info?.object_type === 'bdb' && info.object_uid === bdb))
      return false;
    return begin <= to && (end ?? Number.POSITIVE_INFINITY) >= from;
  });
}
