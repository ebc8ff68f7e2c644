/** Validation of search parameters in the address. Invalid parameters are dropped. */

import { COMPARISON_GROUPS } from '@/api/benchmarks';
import { parseTarget } from '@/features/availability/serviceLevel';
import { EVENT_GROUPS, type EventGroup } from '@/features/timeline/eventTypes';
import { isStep } from '@/lib/resolution';
import { timeWindowError } from '@/lib/timeWindow';

export const RANGES = [
  60, 300, 900, 3_600, 21_600, 86_400, 604_800, 2_592_000, 31_536_000,
] as const;
export type Range = (typeof RANGES)[number];
export const DEFAULT_RANGE: Range = 300;

type Raw = Record<string, unknown>;

const text = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;

const oneOf = <T extends string>(value: unknown, choices: readonly T[]): T | undefined =>
  choices.find((choice) => choice === value);

export interface FrameSearch {
  /** Seconds; undefined for the default. */
  range?: Range | undefined;
  /** A zoomed window, epoch seconds. */
  from?: number | undefined;
  to?: number | undefined;
  /** Resolution of the window in seconds, if the link contains one. */
  res?: number | undefined;
}

export function frameSearch(raw: Raw, now = Date.now() / 1000): FrameSearch {
  const range = RANGES.find((seconds) => seconds === Number(raw.range));
  const from = Number(raw.from);
  const to = Number(raw.to);
  const zoomed = Number.isInteger(from) && Number.isInteger(to) && !timeWindowError(from, to, now);
  return {
    range: range === DEFAULT_RANGE ? undefined : range,
    from: zoomed ? from : undefined,
    to: zoomed ? to : undefined,
    res: zoomed && isStep(Number(raw.res)) ? Number(raw.res) : undefined,
  };
}

export interface LoginSearch {
  next?: string | undefined;
  /** The error code of a failed single sign-on. */
  refused?: string | undefined;
}

export const loginSearch = (raw: Raw): LoginSearch => {
  const next = text(raw.next);
  return {
    // Accept only paths of the web UI, to prevent redirects to other sites after signing in.
    // Browsers remove tabs and line breaks from addresses.
    next: next && /^\/(?![/\\])[^\t\n\r]*$/.test(next) ? next : undefined,
    refused: text(raw.refused),
  };
};

/** Levels of comparison of a metrics page; undefined for no comparison. */
const LEVELS = ['nodes', 'databases', 'shards'] as const;

export interface MetricsSearch {
  by?: (typeof LEVELS)[number] | undefined;
  view?: 'tiles' | 'top' | undefined;
  metric?: string | undefined;
  left?: string | undefined;
  right?: string | undefined;
}

export const metricsSearch = (raw: Raw): MetricsSearch => ({
  by: oneOf(raw.by, LEVELS),
  view: oneOf(raw.view, ['tiles', 'top']),
  metric: text(raw.metric),
  left: text(raw.left),
  right: text(raw.right),
});

export interface CompareSearch {
  /** Uids of the runs to compare, separated by commas. */
  uids: string;
  baseline?: number | undefined;
  group?: (typeof COMPARISON_GROUPS)[number] | undefined;
  column?: string | undefined;
}

export const compareSearch = (raw: Raw): CompareSearch => ({
  uids: text(raw.uids) ?? '',
  baseline: uid(raw.baseline),
  group: oneOf(raw.group, COMPARISON_GROUPS),
  column: text(raw.column),
});

/** Selected database, or the run that is run again. */
export const newRunSearch = (
  raw: Raw,
): { bdb?: number | undefined; repeat?: number | undefined } => ({
  bdb: uid(raw.bdb),
  repeat: uid(raw.repeat),
});

/** Run that a scenario run is compared with. */
export const scenarioRunSearch = (raw: Raw): { baseline?: number | undefined } => ({
  baseline: uid(raw.baseline),
});

/** Text filter of the list of databases. */
export const databasesSearch = (raw: Raw): { q?: string | undefined } => ({ q: text(raw.q) });

export interface ShardsSearch {
  shard?: string | undefined;
  colour?: string | undefined;
}

export const shardsSearch = (raw: Raw): ShardsSearch => ({
  shard: text(raw.shard),
  colour: text(raw.colour),
});

export interface TimelineSearch {
  severity?: 'WARNING' | 'ERROR' | undefined;
  node?: number | undefined;
  bdb?: number | undefined;
  kind?: EventGroup | undefined;
  /** Uids of the selected events, or "action:" with the uid of an action. */
  event?: string | undefined;
}

const TIMELINE_KINDS = Object.keys(EVENT_GROUPS) as EventGroup[];

const uid = (value: unknown): number | undefined => {
  const found = Number(value);
  return Number.isInteger(found) && found > 0 ? found : undefined;
};

export const timelineSearch = (raw: Raw): TimelineSearch => ({
  severity: oneOf(raw.severity, ['WARNING', 'ERROR']),
  node: uid(raw.node),
  bdb: uid(raw.bdb),
  kind: oneOf(raw.kind, TIMELINE_KINDS),
  event: text(raw.event),
});

const BACKUP_STATUSES = ['running', 'succeeded', 'failed', 'cancelled', 'deleting'] as const;

export interface BackupsSearch {
  bdb?: number | undefined;
  status?: (typeof BACKUP_STATUSES)[number] | undefined;
  /** The backup whose details are shown. */
  backup?: number | undefined;
}

export const backupsSearch = (raw: Raw): BackupsSearch => ({
  bdb: uid(raw.bdb),
  status: oneOf(raw.status, BACKUP_STATUSES),
  backup: uid(raw.backup),
});

export interface AvailabilitySearch {
  /** Month of UTC, such as "2026-11". */
  month?: string | undefined;
  /** Target in percent. */
  target?: number | undefined;
}

export const availabilitySearch = (raw: Raw): AvailabilitySearch => ({
  month: /^\d{4}-(0[1-9]|1[0-2])$/.test(text(raw.month) ?? '') ? text(raw.month) : undefined,
  target: parseTarget(raw.target),
});

export interface ActionsSearch {
  status?: 'running' | 'failed' | undefined;
  text?: string | undefined;
}

export const actionsSearch = (raw: Raw): ActionsSearch => ({
  status: oneOf(raw.status, ['running', 'failed']),
  text: text(raw.text),
});

export interface AuditSearch {
  outcome?: 'done' | 'refused' | 'failed' | undefined;
  text?: string | undefined;
}

export const auditSearch = (raw: Raw): AuditSearch => ({
  outcome: oneOf(raw.outcome, ['done', 'refused', 'failed']),
  text: text(raw.text),
});

export interface EventSearch {
  /** Events of the time range in the header, or all events. */
  span?: 'range' | 'all' | undefined;
  severity?: string | undefined;
  source?: string | undefined;
  text?: string | undefined;
}

export const eventSearch = (raw: Raw): EventSearch => ({
  span: oneOf(raw.span, ['range', 'all']),
  severity: oneOf(raw.severity, ['DEBUG', 'INFO', 'WARNING', 'ERROR', 'CRITICAL']),
  source: oneOf(raw.source, ['cluster', 'node', 'bdb', 'shard']),
  text: text(raw.text),
});
