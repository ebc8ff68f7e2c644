/**
 * Data sources of charts: the ring buffers for recent minutes, the store for older data. Several
 * series can be combined into one, for example the sum or the maximum of several shards.
 */
import { lostSince } from '@/lib/connection';
import { chooseStep } from '@/lib/resolution';
import { isDrawable } from '@/lib/timeWindow';
import type { ChartSource, Columns, TimeAxis } from '@/ui/chart/types';
import type { Live } from '../live';
import { type CombineRule, combineSeries } from './combineSeries';
import type { HistorySeries } from './historyCache';
import { type HistoryColumns, sliceStart, sliceWindow } from './historyColumns';
import { RETENTION } from './ring';
import { ringCombiner } from './ringCombiner';

export interface SeriesRef {
  uids: readonly string[];
  metric: string;
  /** How the values of several uids are combined; default: sum. */
  rule?: CombineRule;
  /** Factor from the API's unit to the chart's unit. */
  scale?: number;
}

export interface SeriesRequest {
  topic: string;
  series: readonly SeriesRef[];
  /**
   * Number of uids of the topic. If set, the store is queried for all of them, for pages that show
   * all objects.
   */
  topicSize?: number;
  /** Total of the series, for the lowest and highest second of the sum. */
  total?: SeriesRef;
}

interface Window {
  from: number;
  to: number;
}

const LOST_REASON = 'The connection to the console was lost before samples arrived.';

const MAX_POINTS = 1_000;
/** Maximum number of values of one metric per request when hundreds of series are compared. */
const MAX_VALUES = 200_000;

const PIECE_SECONDS = 300;

/** Metrics whose highest second is stored in addition to the average. */
const PEAKS = new Set([
  ...['total_req', 'read_req', 'write_req', 'responsiveness', 'main_thread_cpu', 'used_memory'],
  ...['conns', 'connected_clients', 'repl_lag_bytes', 'cpu_user', 'cpu_system'],
]);
/** Metrics whose lowest second is stored as well. */
const LOWS = new Set(['total_req', 'read_req', 'write_req']);
/** Request metrics that are the weights for averaging ratios and latencies. */
const WEIGHT_METRICS: Readonly<Record<string, readonly string[]>> = {
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
  return axis.step?.() ?? chooseStep(from, to, MAX_POINTS, now);
}

export function seriesSource(live: Live, axis: TimeAxis, spec: SeriesRequest): ChartSource {
  const { topic, series } = spec;
  const uids =
    spec.topicSize !== undefined ? undefined : [...new Set(series.flatMap((one) => one.uids))];
  const metrics = new Set(series.flatMap(({ metric }) => storedMetrics(metric)));
  for (const name of spec.total ? extremesOf(spec.total.metric) : []) metrics.add(name);
  const combiners = series.map(ringCombiner);
  const weightCombiners = series.map((one) => weightsOf(one).map(ringCombiner));
  let history: HistorySeries | null = null;

  const isRecent = ({ from }: Window) => from >= live.edge() - RETENTION;
  /** Return the part of the window that the ring buffer never contained. */
  const missingPart = (window: Window): Window | null => {
    const { oldest } = live.ring(topic);
    if (!isRecent(window)) return window;
    if (!oldest || oldest <= window.from) return null;
    // Round to large pieces. Otherwise, each second would cause another request.
    const length = Math.ceil((oldest - window.from) / PIECE_SECONDS) * PIECE_SECONDS;
    return { from: oldest - length, to: oldest };
  };
  const request = (window: Window) => {
    const part = missingPart(window);
    if (!part || !history) return;
    const width = Math.max(1, uids?.length ?? spec.topicSize ?? 1);
    const points = Math.max(60, Math.floor(MAX_VALUES / width));
    const recent = isRecent(window);
    const chartStep = recent ? 1 : stepOf(axis, part, live.edge());
    const step = recent
      ? 1
      : Math.max(chartStep, chooseStep(part.from, part.to, points, live.edge()));
    history.ensureRange(part.from, part.to, step);
  };

  let combined: { of: HistoryColumns; columns: Columns } | null = null;
  /** Return all loaded columns, combined once. */
  const loadedColumns = (of: HistoryColumns): Columns => {
    if (combined?.of !== of) {
      const window = { from: of.from, to: of.from + of.count };
      combined = { of, columns: combine(of, spec, window) };
    }
    return combined.columns;
  };

  return {
    read: (from, to) => {
      request({ from, to });
      const ring = live.ring(topic);
      if (isRecent({ from, to })) {
        // Future seconds have no values.
        const last = Math.max(from, Math.min(to, live.edge() + PIECE_SECONDS));
        const stored =
          missingPart({ from, to }) && history?.columns?.step === 1
            ? loadedColumns(history.columns)
            : null;
        const withStored = (row: Float64Array, older?: Float64Array) =>
          stored ? withOlder(row, from, stored.from, older) : row;
        return {
          from,
          step: 1,
          rows: combiners.map((read, index) =>
            withStored(read(ring, from, last), stored?.rows[index]),
          ),
          weights: weightCombiners.map((reads, index) =>
            reads.length
              ? withStored(
                  sum(reads.map((read) => read(ring, from, last))),
                  stored?.weights?.[index],
                )
              : undefined,
          ),
        };
      }
      // Data that was loaded for another window can be much finer than required.
      return history?.columns && isDrawable(from, to, history.columns.step)
        ? combine(history.columns, spec, { from, to })
        : { from, step: to - from, rows: series.map(() => new Float64Array(1).fill(Number.NaN)) };
    },
    subscribe: (listener) => {
      let lastWindow = '';
      history = live.history.get(topic, uids);
      const stops = [
        history.subscribe([...metrics], listener),
        live.onTick(() => {
          const window = axis.window();
          const now = `${window.from}-${window.to}`;
          if (isRecent(window) || now !== lastWindow) listener();
          lastWindow = now;
        }),
      ];
      history.loadNewMetrics();
      request(axis.window());
      return () => {
        for (const stop of stops) stop();
      };
    },
    reason: () => {
      if (!isRecent(axis.window())) return history?.reason;
      const isUnknown = !live.ring(topic).oldest && lostSince.get() !== null;
      return isUnknown ? LOST_REASON : undefined;
    },
    pending: () => {
      if (isRecent(axis.window()))
        return !live.ring(topic).oldest && live.freshness.get() === 'waiting';
      return !history?.reason && !history?.columns;
    },
  };
}

/** Return the series whose values are the weights of a series. */
const weightsOf = ({ uids, metric }: SeriesRef): SeriesRef[] =>
  (WEIGHT_METRICS[metric] ?? []).map((name) => ({ uids, metric: name }));

function sum(rows: readonly Float64Array[]): Float64Array {
  const [first, ...rest] = rows;
  return (first ?? new Float64Array()).map((value, index) =>
    rest.reduce((all, row) => all + (row[index] ?? Number.NaN), value),
  );
}

/** Return the stored metrics that are required for one metric. */
function storedMetrics(metric: string): string[] {
  return [metric, ...extremesOf(metric), ...(WEIGHT_METRICS[metric] ?? [])];
}

const extremesOf = (metric: string): string[] => [
  ...(PEAKS.has(metric) ? [`${metric}_max`] : []),
  ...(LOWS.has(metric) ? [`${metric}_min`] : []),
];

function combine(
  columns: HistoryColumns,
  { series, total }: SeriesRequest,
  window: Window,
): Columns {
  const from = sliceStart(columns, window.from);
  const length = Math.max(0, Math.ceil((window.to - from) / columns.step));
  const combined = (one: SeriesRef, metric = one.metric) =>
    combineSeries({ ...one, metric }, length, (uid, name, add) => {
      add(0, sliceWindow(columns, uid, name, window));
    });
  // The maximum of a sum is not the sum of the maxima.
  const extremes = (one: SeriesRef) =>
    one.uids.length === 1 && PEAKS.has(one.metric)
      ? { low: combined(one, `${one.metric}_min`), high: combined(one, `${one.metric}_max`) }
      : undefined;
  return {
    from,
    step: columns.step,
    rows: series.map((one) => combined(one)),
    extremes: series.map(extremes),
    total: total && extremes(total),
    weights: series.map((one) => {
      const parts = weightsOf(one).map((part) => combined(part));
      return parts.length ? sum(parts) : undefined;
    }),
  };
}

/** Fill the start of a row, which the ring buffer does not contain, from stored data. */
function withOlder(
  row: Float64Array,
  from: number,
  olderFrom: number,
  older: Float64Array = new Float64Array(),
): Float64Array {
  const shift = from - olderFrom;
  return row.map((value, at) => (Number.isNaN(value) ? (older[at + shift] ?? Number.NaN) : value));
}
