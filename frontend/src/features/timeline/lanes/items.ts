/** Items of a lane: marks for instants, bars for spans. Pure. */
import { isRunning } from '@/api/cluster/actions';
import { endOf, resyncOf, startOf } from '@/api/failures/eventSpans';
import type { Action, LogEvent } from '@/api/types';
import { mergeOverlapping } from '@/lib/timelineLayout';
import { eventTypeName, type Tone, toneOf, worstTone } from '../eventTypes';
import { percentText } from '../incidents/incidentText';

export interface Item {
  /** Selected by a click: comma-separated event uids, or "action:<uid>". */
  id: string;
  shape: 'mark' | 'bar';
  type: string;
  tone: Tone;
  label: string;
  /** Text inside a bar. */
  text: string;
  from: number;
  to: number | null;
  row: number;
  count: number;
  percent: number | null;
  phases: { name: string; from: number; to: number | null }[];
}

export type UnplacedItem = Omit<Item, 'row'>;

export function mark(events: readonly LogEvent[]): UnplacedItem {
  const [first] = events;
  const tones = events.map(toneOf);
  const tone = worstTone(tones);
  const worstEvent = events[tones.indexOf(tone)] ?? first;
  return {
    id: events.map(({ uid }) => uid).join(),
    shape: 'mark',
    type: worstEvent?.type ?? '',
    tone,
    label: events.map(descriptionOf).slice(0, 4).join('\n') + moreText(events.length - 4),
    text: '',
    from: first ? startOf(first) : 0,
    to: null,
    count: events.length,
    percent: null,
    phases: [],
  };
}

/** Return the bar of an event. `databases` maps uids to names, which are added to events without a node. */
export function bar(event: LogEvent, databases: ReadonlyMap<number, string>): UnplacedItem {
  const resync = resyncOf(event);
  const percent = resync?.open ? resync.percent : null;
  return {
    id: String(event.uid),
    shape: 'bar',
    type: event.type,
    tone: toneOf(event),
    label: descriptionOf(event),
    text: [titleOf(event, databases), percent === null ? '' : percentText(percent)]
      .filter(Boolean)
      .join(' '),
    from: startOf(event),
    to: endOf(event),
    count: 1,
    percent,
    phases: resync?.phases ?? [],
  };
}

/**
 * Return the resyncs of a collapsed node. Overlapping resyncs are merged into one bar with their
 * mean progress.
 */
export function mergedResyncs(
  events: readonly LogEvent[],
  databases: ReadonlyMap<number, string>,
): UnplacedItem[] {
  return mergeOverlapping(
    events.map((event) => ({ event, from: startOf(event), to: endOf(event) })),
  ).map(({ from, to, parts }) => {
    const merged = parts.map(({ event }) => event);
    const [only] = merged;
    if (only && merged.length === 1) return bar(only, databases);
    const percent =
      merged.reduce((sum, event) => sum + (resyncOf(event)?.percent ?? 0), 0) / merged.length;
    return {
      id: merged.map(({ uid }) => uid).join(),
      shape: 'bar',
      type: 'resync',
      tone: worstTone(merged.map(toneOf)),
      label: merged.map(descriptionOf).slice(0, 4).join('\n') + moreText(merged.length - 4),
      text: `${merged.length} resyncs${to === null ? ` ${percentText(percent)}` : ''}`,
      from,
      to,
      count: merged.length,
      percent: to === null ? percent : null,
      phases: [],
    };
  });
}

function titleOf(event: LogEvent, databases: ReadonlyMap<number, string>): string {
  const { bdb_uid } = event;
  const name = eventTypeName(event);
  if (bdb_uid === undefined || event.node_uid !== undefined) return name;
  return `${name}, ${databases.get(bdb_uid) ?? `database ${bdb_uid}`}`;
}

const descriptionOf = (event: LogEvent): string => event.description || eventTypeName(event);
const moreText = (count: number): string => (count > 0 ? `\nand ${count} more` : '');

const ACTION_TONES: Record<Action['status'], Tone> = {
  queued: 'progress',
  running: 'progress',
  completed: 'ok',
  failed: 'broken',
  cancelled: 'attention',
};

export function actionBar(action: Action): UnplacedItem {
  const name = action.additional_info?.description || action.name;
  const running = isRunning(action);
  return {
    id: `action:${action.action_uid}`,
    shape: 'bar',
    type: 'action',
    tone: ACTION_TONES[action.status],
    label: `${name} (${action.status})`,
    text: running ? `${name} ${percentText(action.progress)}` : name,
    from: action.creation_time * 1000,
    to: running ? null : (action.finish_time ?? action.creation_time) * 1000,
    count: 1,
    percent: running ? action.progress : null,
    phases: [],
  };
}
