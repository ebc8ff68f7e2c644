/**
 * Where the numbers of a chart come from: the rings for the last minutes, the store for anything
 * older. Several series may be folded into one: the sum of some shards, the highest of the rest.
 */
import { chooseStep } from '@/lib/resolution';
import type { ChartSource, Columns, TimeAxis } from '@/ui/chart/types';
import { cut, cutFrom, type PastColumns } from './columns';
import { fold, known, type Rule } from './folding';
import type { Live } from './live';
import type { PastSeries } from './past';
import { RETENTION } from './ring';
import { ringFolder } from './ringFolder';

export interface SeriesRef {
  uids: readonly string[];
  metric: string;
  /** How several uids become one value; the sum when left out. */
  rule?: Rule;
  /** Turns the console's unit into the chart's. */
  scale?: number;
}

export interface SeriesWanted {
  topic: string;
  series: readonly SeriesRef[];
  /** Asks the store for every uid of the topic, for pages that show all of them: how many there are. */
  all?: number;
}

interface Window {
  from: number;
  to: number;
}

const POINTS = 1_000;
/** Values of one metric worth fetching at once when hundreds of series are compared. */
const VALUES = 200_000;

const PIECE = 300;

/** Metrics whose highest second is stored beside the average. */
const PEAKS = new Set([
  ...['total_req', 'read_req', 'write_req', 'responsiveness', 'main_thread_cpu', 'used_memory'],
  ...['conns', 'connected_clients', 'repl_lag_bytes', 'cpu_user', 'cpu_system'],
]);
/** Ratios are averaged by how many requests are behind them. */
const BEHIND: Readonly<Record<string, readonly string[]>> = {
  hit_ratio: ['read_hits', 'read_misses'],
};

export function stepOf(axis: TimeAxis, { from, to }: Window, now: number): number {
  return axis.step?.() ?? chooseStep(from, to, POINTS, now);
}

export function seriesSource(live: Live, axis: TimeAxis, wanted: SeriesWanted): ChartSource {
  const { topic, series } = wanted;
  const uids =
    wanted.all !== undefined ? undefined : [...new Set(series.flatMap((one) => one.uids))];
  const metrics = new Set(series.flatMap(({ metric }) => stored(metric)));
  const folders = series.map(ringFolder);
  let past: PastSeries | null = null;

  const isRecent = ({ from }: Window) => from >= live.edge() - RETENTION;
  /** The part of the window that the ring never had. */
  const missing = (window: Window): Window | null => {
    const { since } = live.ring(topic);
    if (!isRecent(window)) return window;
    if (!since || since <= window.from) return null;
    // In large pieces, or every second would ask for a second less.
    const length = Math.ceil((since - window.from) / PIECE) * PIECE;
    return { from: since - length, to: since };
  };
  const ask = (window: Window) => {
    const part = missing(window);
    if (!part || !past || !series.length) return;
    const width = Math.max(1, uids?.length ?? wanted.all ?? 1);
    const points = Math.max(60, Math.floor(VALUES / width));
    const recent = isRecent(window);
    const fine = recent ? 1 : stepOf(axis, part, live.edge());
    const step = recent ? 1 : Math.max(fine, chooseStep(part.from, part.to, points, live.edge()));
    past.want(part.from, part.to, step);
  };

  let folded: { of: PastColumns; columns: Columns } | null = null;
  /** All of what was read once, folded once. */
  const early = (of: PastColumns): Columns => {
    if (folded?.of !== of) {
      const whole = { from: of.from, to: of.from + of.count };
      folded = { of, columns: stretch(of, series, whole) };
    }
    return folded.columns;
  };

  return {
    read: (from, to) => {
      ask({ from, to });
      const ring = live.ring(topic);
      if (isRecent({ from, to })) {
        const before =
          missing({ from, to }) && past?.columns?.step === 1 ? early(past.columns) : null;
        const rows = folders.map((read, index) => {
          const row = read(ring, from, to);
          return before ? prefixed(row, from, before, index) : row;
        });
        return { from, step: 1, rows };
      }
      return past?.columns
        ? stretch(past.columns, series, { from, to })
        : { from, step: to - from, rows: series.map(() => new Float64Array(1).fill(Number.NaN)) };
    },
    subscribe: (listener) => {
      let seen = '';
      past = live.past.of(topic, uids);
      const stops = [
        past.subscribe([...metrics], listener),
        live.onTick(() => {
          const window = axis.window();
          const now = `${window.from}-${window.to}`;
          if (isRecent(window) || now !== seen) listener();
          seen = now;
        }),
      ];
      past.add();
      ask(axis.window());
      return () => {
        for (const stop of stops) stop();
      };
    },
    reason: () => {
      if (isRecent(axis.window())) return undefined;
      return past?.reason ?? (past?.columns ? undefined : 'Reading the stored history …');
    },
  };
}

/** What has to be read from the store for one metric. */
function stored(metric: string): string[] {
  return [metric, ...(PEAKS.has(metric) ? [`${metric}_max`] : []), ...(BEHIND[metric] ?? [])];
}

function stretch(columns: PastColumns, series: readonly SeriesRef[], window: Window): Columns {
  const from = cutFrom(columns, window.from);
  const length = Math.max(0, Math.ceil((window.to - from) / columns.step));
  const folded = (one: SeriesRef, metric = one.metric) =>
    fold({ ...one, metric }, length, (uid, name, add) => {
      add(0, cut(columns, uid, name, window));
    });
  return {
    from,
    step: columns.step,
    rows: series.map((one) => folded(one)),
    // The highest second of a sum is not the sum of the highest seconds.
    peaks: series.map((one) =>
      one.uids.length === 1 && PEAKS.has(one.metric) ? folded(one, `${one.metric}_max`) : undefined,
    ),
    weights: series.map((one) => {
      const [part, rest] = BEHIND[one.metric] ?? [];
      if (!part || !rest) return undefined;
      const others = folded({ ...one, scale: 1 }, rest);
      return folded({ ...one, scale: 1 }, part).map(
        (value, index) => known(value) + known(others[index]),
      );
    }),
  };
}

/** Fills the beginning of a row, which the ring does not have, from the store. */
function prefixed(row: Float64Array, from: number, before: Columns, index: number): Float64Array {
  const older = before.rows[index] ?? new Float64Array();
  const shift = from - before.from;
  return row.map((value, at) => (Number.isNaN(value) ? (older[at + shift] ?? Number.NaN) : value));
}
