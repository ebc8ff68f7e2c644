/** Event annotations on charts: instants as lines, outages and resyncs as bands. */
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { endOf, isSpan, startOf } from '@/api/failures/eventSpans';
import type { LogEvent } from '@/api/types';
import { plural } from '@/lib/format';
import { clusterTimes, mergeOverlapping } from '@/lib/timelineLayout';
import { useCoarseWindow } from '@/live/useCoarseWindow';
import { useEventHistory } from '@/live/useEventHistory';
import type { ChartMark } from '@/ui/chart/types';

/** Events that are closer than this share of the window are merged into one line. */
const GAP_SHARE = 1 / 150;
/** Maximum number of events listed in the label of a mark. */
const MAX_LISTED = 4;
/**
 * Event types not drawn on charts: sign-ins, and shard events that repeat what the band of an
 * outage shows.
 */
const HIDDEN_TYPES = new Set([
  'login',
  'login_failed',
  'authentication_err',
  'join_token_created',
  'shard_role_changed',
  'replica_link_down',
  'replica_in_sync',
  'replica_revived',
]);

export interface MarkScope {
  bdb?: number | undefined;
  node?: number | undefined;
}

export interface EventMark extends ChartMark {
  /** Comma-separated uids of the events that the mark represents. */
  events: string;
}

/**
 * Return the marks of `events` (in ascending order) that concern one database or node; by default, of
 * all events. Instants closer than `gap` milliseconds are merged into one line. Overlapping spans of
 * the same type are merged into one band, because stacked bands would hide the curve.
 */
export function eventMarks(
  events: readonly LogEvent[],
  scope: MarkScope = {},
  gap = 0,
): EventMark[] {
  const matching = events
    .filter((event) => scope.bdb === undefined || event.bdb_uid === scope.bdb || isNodeEvent(event))
    .filter((event) => scope.node === undefined || event.node_uid === scope.node)
    .filter((event) => !HIDDEN_TYPES.has(event.type));
  const isBand = (event: LogEvent) => isSpan(event) || event.type === 'resync';
  const spans = new Map<string, LogEvent[]>();
  for (const event of matching.filter(isBand))
    spans.set(event.type, [...(spans.get(event.type) ?? []), event]);
  const instants = matching.filter((event) => !isBand(event));
  return [
    ...[...spans.values()].flatMap(bands),
    ...clusterTimes(instants.map(startOf), gap).map((group) =>
      lineOf(group.flatMap((index) => instants[index] ?? [])),
    ),
  ];
}

function lineOf(events: readonly LogEvent[]): EventMark {
  return {
    at: events[0] ? startOf(events[0]) : 0,
    label: listed(events),
    tone: worst(events),
    events: uidsOf(events),
  };
}

function bands(events: readonly LogEvent[]): EventMark[] {
  const bars = events.map((event) => {
    const from = startOf(event);
    return { event, from, to: isSpan(event) ? endOf(event) : from };
  });
  return mergeOverlapping(bars).map(({ from, to, parts }) => {
    const members = parts.map(({ event }) => event);
    const isResync = members[0]?.type === 'resync';
    return {
      at: from,
      until: to,
      label: isResync ? `Resync of ${plural(members.length, 'replica')}` : listed(members),
      tone: isResync ? 'progress' : worst(members),
      events: uidsOf(members),
    };
  });
}

function listed(events: readonly LogEvent[]): string {
  const more = events.length - MAX_LISTED;
  const lines = events.slice(0, MAX_LISTED).map(({ description, type }) => description || type);
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

const uidsOf = (events: readonly LogEvent[]): string => events.map(({ uid }) => uid).join();

/** Failures of nodes are shown for every database, because each may have shards on the node. */
function isNodeEvent(event: LogEvent): boolean {
  return event.bdb_uid === undefined && event.node_uid !== undefined && event.severity !== 'INFO';
}

function worst(events: readonly LogEvent[]): ChartMark['tone'] {
  const severities = new Set(events.map(({ severity }) => severity));
  if (severities.has('ERROR') || severities.has('CRITICAL')) return 'error';
  return severities.has('WARNING') ? 'warning' : 'info';
}

/** Marks of the events in the current window. A click on a mark opens the timeline. */
export function useEventMarks({ bdb, node }: MarkScope = {}): readonly ChartMark[] {
  const { from, to, length } = useCoarseWindow();
  const events = useEventHistory(from, to);
  const navigate = useNavigate();
  return useMemo(
    () =>
      eventMarks(events ?? [], { bdb, node }, length * 1000 * GAP_SHARE).map((mark) => ({
        ...mark,
        open: () =>
          void navigate({
            to: '/activity/timeline',
            search: ({ range, from, to }) => ({ range, from, to, event: mark.events }),
          }),
      })),
    [events, bdb, node, length, navigate],
  );
}
