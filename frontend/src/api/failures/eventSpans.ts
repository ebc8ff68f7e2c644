/**
 * Typed values from events of the log about outages, failovers and resyncs.
 * Details are fields of the event that depend on its type, so each of them can be missing.
 */
import type { LogEvent } from '../types';

// The API does not define types for details.
const number = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

const uids = (value: unknown): number[] =>
  Array.isArray(value) ? value.filter((uid): uid is number => typeof uid === 'number') : [];

const parsed = (value: unknown): number | null =>
  typeof value === 'string' ? number(Date.parse(value)) : null;

/** Epoch milliseconds. */
export const startOf = (event: LogEvent): number => event.time_ms;

export const isOpen = (event: LogEvent): boolean => event.open === true && endOf(event) === null;

/** Epoch milliseconds; null for an instant and for an open span. */
export const endOf = (event: LogEvent): number | null => event.ended_ms ?? null;

export const isSpan = (event: LogEvent): boolean => isOpen(event) || endOf(event) !== null;

export interface Outage {
  event: LogEvent;
  node: number;
  from: number;
  /** Null while the node is down. */
  to: number | null;
  witnesses: number[];
  primaries: number;
  replicas: number;
  detectedMs: number | null;
}

export function outageOf(event: LogEvent): Outage | null {
  if (event.type !== 'node_failed' || event.node_uid === undefined) return null;
  return {
    event,
    node: event.node_uid,
    from: startOf(event),
    to: endOf(event),
    witnesses: uids(event.witnesses),
    primaries: number(event.primaries) ?? 0,
    replicas: number(event.replicas) ?? 0,
    detectedMs: number(event.detected_ms),
  };
}

export interface Failover {
  event: LogEvent;
  at: number;
  pair: number | null;
  lost: string;
  promoted: string;
  /** Null if unknown. */
  bytesBehind: number | null;
  method: string;
  seconds: number | null;
}

export function failoverOf(event: LogEvent): Failover | null {
  if (event.type !== 'shard_failover') return null;
  return {
    event,
    at: startOf(event),
    pair: number(event.pair),
    lost: String(event.lost ?? ''),
    promoted: String(event.promoted ?? event.shard_uid ?? ''),
    bytesBehind: number(event.bytes_behind),
    method: typeof event.method === 'string' ? event.method : '',
    seconds: number(event.seconds),
  };
}

export interface Phase {
  name: string;
  from: number;
  to: number | null;
}

export interface Resync {
  event: LogEvent;
  shard: string;
  primary: string;
  pair: number | null;
  from: number;
  to: number | null;
  open: boolean;
  phase: string;
  percent: number;
  bytes: number | null;
  rate: number | null;
  etaSeconds: number | null;
  phases: Phase[];
  /** Whether the resync ended before the replica was in sync. */
  incomplete: boolean;
}

export function resyncOf(event: LogEvent): Resync | null {
  if (event.type !== 'resync' || event.shard_uid === undefined) return null;
  return {
    event,
    shard: String(event.shard_uid),
    primary: String(event.primary ?? ''),
    pair: number(event.pair),
    from: startOf(event),
    to: endOf(event),
    open: isOpen(event),
    phase: typeof event.phase === 'string' ? event.phase : 'waiting',
    percent: number(event.percent) ?? 0,
    bytes: number(event.bytes),
    rate: number(event.rate),
    etaSeconds: number(event.eta_seconds),
    phases: phasesOf(event.phases),
    incomplete: event.outcome === 'lost',
  };
}

function phasesOf(value: unknown): Phase[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((phase) => {
    const from = parsed(phase?.started);
    // The last phase is the final state, not a step.
    if (from === null || phase.name === 'in_sync') return [];
    return [{ name: String(phase.name), from, to: parsed(phase.ended) }];
  });
}

export const PHASE_LABELS: Record<string, string> = {
  waiting: 'waiting',
  transfer: 'transfer',
  load: 'loading',
  catching_up: 'catching up',
  in_sync: 'in sync',
};

export const phaseLabel = (name: string): string => PHASE_LABELS[name] ?? name;

/** Return the running resyncs by the uid of the replica. */
export function openResyncs(events: readonly LogEvent[]): Map<string, Resync> {
  const found = new Map<string, Resync>();
  for (const event of events) {
    const resync = resyncOf(event);
    if (resync?.open && !found.has(resync.shard)) found.set(resync.shard, resync);
  }
  return found;
}
