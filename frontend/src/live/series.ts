/**
 * Where the numbers of a chart come from: the rings for the last minutes, the store for anything
 * older. Several series may be folded into one: the sum of some shards, the highest of the rest.
 */
import { chooseStep } from '@/lib/resolution';
import { isDrawable } from '@/lib/timeWindow';
import type { ChartSource, Columns, TimeAxis } from '@/ui/chart/types';
import { cut, cutFrom, type PastColumns } from './columns';
import { fold, type Rule } from './folding';
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
  /** What the series add up to, for the lowest and the highest second of the sum. */
  whole?: SeriesRef;
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
/** And those whose lowest is, too. */
const LOWS = new Set(['total_req', 'read_req', 'write_req']);
/** Ratios and averages are averaged by how many requests are behind them. */
const BEHIND: Readonly<Record<string, readonly string[]>> = {
  hit_ratio: ['read_hits', 'read_misses'],
  ram_hit_ratio: ['big_io_ratio_redis'],
  fetch_ram_hit_ratio: ['big_fetch_ram', 'big_fetch_flash'],
  write_ram_hit_ratio: ['big_write_ram', 'big_write_flash'],
  del_ram_hit_ratio: ['big_del_ram', 'big_del_flash'],
  avg_latency: ['total_req'],
  avg_read_latency: ['read_req'],
  avg_write_latency: ['write_req'],
  avg_other_latency: ['other_req'],
};

export function stepOf(axis: TimeAxis, { from, to }: Window, now: number): number {
  return axis.step?.() ?? chooseStep(from, to, POINTS, now);
}

export function seriesSource(live: Live, axis: TimeAxis, wanted: SeriesWanted): ChartSource {
  const { topic, series } = wanted;
  const uids =
    wanted.all !== undefined ? undefined : [...new Set(series.flatMap((one) => one.uids))];
  const metrics = new Set(series.flatMap(({ metric }) => stored(metric)));
  for (const name of wanted.whole ? extremesOf(wanted.whole.metric) : []) metrics.add(name);
  const folders = series.map(ringFolder);
  const weighers = series.map((one) => behind(one).map(ringFolder));
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
    if (!part || !past) return;
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
      folded = { of, columns: stretch(of, wanted, whole) };
    }
    return folded.columns;
  };

  return {
    read: (from, to) => {
      ask({ from, to });
      const ring = live.ring(topic);
      if (isRecent({ from, to })) {
        // The future has no seconds yet.
        const last = Math.max(from, Math.min(to, live.edge() + PIECE));
        const before =
          missing({ from, to }) && past?.columns?.step === 1 ? early(past.columns) : null;
        const joined = (row: Float64Array, older?: Float64Array) =>
          before ? prefixed(row, from, before.from, older) : row;
        return {
          from,
          step: 1,
          rows: folders.map((read, index) => joined(read(ring, from, last), before?.rows[index])),
          weights: weighers.map((reads, index) =>
            reads.length
              ? joined(sum(reads.map((read) => read(ring, from, last))), before?.weights?.[index])
              : undefined,
          ),
        };
      }
      // What is known of another window may be much finer than this one needs.
      return past?.columns && isDrawable(from, to, past.columns.step)
        ? stretch(past.columns, wanted, { from, to })
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
    reason: () => (isRecent(axis.window()) ? undefined : past?.reason),
    pending: () => {
      if (isRecent(axis.window()))
        return !live.ring(topic).since && live.freshness.get() === 'waiting';
      return !past?.reason && !past?.columns;
    },
  };
}

/** The requests behind the values of a series. */
const behind = ({ uids, metric }: SeriesRef): SeriesRef[] =>
  (BEHIND[metric] ?? []).map((name) => ({ uids, metric: name }));

function sum(rows: readonly Float64Array[]): Float64Array {
  const [first, ...rest] = rows;
  return (first ?? new Float64Array()).map((value, index) =>
    rest.reduce((all, row) => all + (row[index] ?? Number.NaN), value),
  );
}

/** What has to be read from the store for one metric. */
function stored(metric: string): string[] {
  return [metric, ...extremesOf(metric), ...(BEHIND[metric] ?? [])];
}

const extremesOf = (metric: string): string[] => [
  ...(PEAKS.has(metric) ? [`${metric}_max`] : []),
  ...(LOWS.has(metric) ? [`${metric}_min`] : []),
];

function stretch(columns: PastColumns, { series, whole }: SeriesWanted, window: Window): Columns {
  const from = cutFrom(columns, window.from);
  const length = Math.max(0, Math.ceil((window.to - from) / columns.step));
  const folded = (one: SeriesRef, metric = one.metric) =>
    fold({ ...one, metric }, length, (uid, name, add) => {
      add(0, cut(columns, uid, name, window));
    });
  // The highest second of a sum is not the sum of the highest seconds.
  const extremes = (one: SeriesRef) =>
    one.uids.length === 1 && PEAKS.has(one.metric)
      ? { low: folded(one, `${one.metric}_min`), high: folded(one, `${one.metric}_max`) }
      : undefined;
  return {
    from,
    step: columns.step,
    rows: series.map((one) => folded(one)),
    extremes: series.map(extremes),
    whole: whole && extremes(whole),
    weights: series.map((one) => {
      const parts = behind(one).map((part) => folded(part));
      return parts.length ? sum(parts) : undefined;
    }),
  };
}

/** Fills the beginning of a row, which the ring does not have, from the store. */
function prefixed(
  row: Float64Array,
  from: number,
  olderFrom: number,
  older: Float64Array = new Float64Array(),
): Float64Array {
  const shift = from - olderFrom;
  return row.map((value, at) => (Number.isNaN(value) ? (older[at + shift] ?? Number.NaN) : value));
}
