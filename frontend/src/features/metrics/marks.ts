/** Events on charts: instants as lines, outages and resyncs as bands. */
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { endOf, isSpan, startOf } from '@/api/story';
import type { LogEvent } from '@/api/types';
import { plural } from '@/lib/format';
import { useStory } from '@/live/useStory';
import { useWindow } from '@/live/useWindow';
import type { ChartMark } from '@/ui/chart/types';

const KEPT = 100;
/** Logins are no news on a chart; what shards repeat of an outage, its bands say already. */
const NOT_ON_CHARTS = new Set([
  'login',
  'login_failed',
  'authentication_err',
  'join_token_created',
  'shard_role_changed',
  'replica_link_down',
  'replica_in_sync',
  'replica_revived',
]);

export interface Concern {
  bdb?: number | undefined;
  node?: number | undefined;
}

export interface EventMark extends ChartMark {
  /** Uids of the events it stands for. */
  events: string;
}

/** `events` newest first. Without a concern: everything that happened. */
export function marksOf(events: readonly LogEvent[], concern: Concern = {}): EventMark[] {
  const shown = events
    .filter(
      (event) => concern.bdb === undefined || event.bdb_uid === concern.bdb || isNodeEvent(event),
    )
    .filter((event) => concern.node === undefined || event.node_uid === concern.node)
    .filter((event) => !NOT_ON_CHARTS.has(event.type))
    .slice(0, KEPT);
  const resyncs = shown.filter(({ type }) => type === 'resync');
  return [...joined(resyncs), ...shown.filter(({ type }) => type !== 'resync').map(markOf)];
}

function markOf(event: LogEvent): EventMark {
  return {
    at: startOf(event),
    label: event.description || event.type,
    tone: toneOf(event),
    events: String(event.uid),
    ...(isSpan(event) ? { until: endOf(event) } : {}),
  };
}

/** Resyncs that overlap are one band: layers of them would grow dark. */
function joined(resyncs: readonly LogEvent[]): EventMark[] {
  const found: { at: number; until: number | null; uids: number[] }[] = [];
  for (const event of [...resyncs].sort((a, b) => startOf(a) - startOf(b))) {
    const at = startOf(event);
    const until = isSpan(event) ? endOf(event) : at;
    const last = found.at(-1);
    if (last && (last.until === null || at <= last.until)) {
      last.uids.push(event.uid);
      last.until = last.until === null || until === null ? null : Math.max(last.until, until);
    } else found.push({ at, until, uids: [event.uid] });
  }
  return found.map(({ at, until, uids }) => ({
    at,
    until,
    label: `Resync of ${plural(uids.length, 'replica')}`,
    tone: 'progress',
    events: uids.join(),
  }));
}

/** A node going down concerns every database that may have shards on it. */
function isNodeEvent(event: LogEvent): boolean {
  return event.bdb_uid === undefined && event.node_uid !== undefined && event.severity !== 'INFO';
}

function toneOf(event: LogEvent): ChartMark['tone'] {
  if (event.severity === 'ERROR' || event.severity === 'CRITICAL') return 'error';
  return event.severity === 'WARNING' ? 'warning' : 'info';
}

/** A click on a mark leads to the timeline. */
export function useMarks({ bdb, node }: Concern = {}): readonly ChartMark[] {
  const { from, to } = useWindow();
  const story = useStory(from, to);
  const navigate = useNavigate();
  return useMemo(
    () =>
      marksOf((story ?? []).toReversed(), {
        ...(bdb === undefined ? {} : { bdb }),
        ...(node === undefined ? {} : { node }),
      }).map((mark) => ({
        ...mark,
        open: () =>
          void navigate({
            to: '/timeline',
            search: ({ range, from, to }) => ({ range, from, to, event: mark.events }),
          }),
      })),
    [story, bdb, node, navigate],
  );
}
