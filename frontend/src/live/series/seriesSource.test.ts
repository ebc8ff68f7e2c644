import { describe, expect, it } from 'vitest';
import { lostSince } from '@/lib/connection';
import type { TimeAxis } from '@/ui/chart/types';
import type { Live } from '../live';
import type { HistoryColumns } from './historyColumns';
import { TopicRing } from './ring';
import { type SeriesRequest, seriesSource } from './seriesSource';

const NOW = 1_700_000_000;
const FROM = NOW - 7_200;
const of = (...values: number[]) => Float64Array.from(values);

/** Two past intervals of ten seconds for two databases. */
const HISTORY: HistoryColumns = {
  from: FROM,
  step: 10,
  count: 2,
  series: new Map([
    [
      '1',
      new Map([
        ['total_req', of(10, 20)],
        ['total_req_max', of(15, 90)],
        ['total_req_min', of(0, 5)],
        ['conns', of(3, 3)],
        ['conns_max', of(4, 4)],
      ]),
    ],
    ['2', new Map([['total_req', of(1, 2)]])],
  ]),
};

function read(series: SeriesRequest['series'], total?: SeriesRequest['series'][number]) {
  const requested: string[] = [];
  const live = {
    edge: () => NOW,
    ring: () => new TopicRing(),
    onTick: () => () => undefined,
    history: {
      get: () => ({
        columns: HISTORY,
        ensureRange: () => undefined,
        loadNewMetrics: () => undefined,
        subscribe: (metrics: string[]) => {
          requested.push(...metrics);
          return () => undefined;
        },
      }),
    },
  } as unknown as Live;
  const axis = { window: () => ({ from: FROM, to: FROM + 20 }) } as TimeAxis;
  const source = seriesSource(live, axis, {
    topic: 'bdbs',
    series,
    ...(total && { total }),
  });
  source.subscribe(() => undefined);
  return { columns: source.read(FROM, FROM + 20), requested };
}

describe('series of a past window', () => {
  it('include the lowest and highest second of one object', () => {
    const { columns, requested } = read([{ uids: ['1'], metric: 'total_req' }]);
    expect(requested).toEqual(['total_req', 'total_req_max', 'total_req_min']);
    expect(columns.rows).toEqual([of(10, 20)]);
    expect(columns.extremes).toEqual([{ low: of(0, 5), high: of(15, 90) }]);
  });

  it('include no lowest second if the console does not store it', () => {
    const { columns } = read([{ uids: ['1'], metric: 'conns' }]);
    expect(columns.extremes).toEqual([{ low: of(Number.NaN, Number.NaN), high: of(4, 4) }]);
  });

  it('include no extremes for several objects, because the maximum of a sum is not the sum of the maxima', () => {
    const { columns } = read([{ uids: ['1', '2'], metric: 'total_req' }]);
    expect(columns.rows).toEqual([of(11, 22)]);
    expect(columns.extremes).toEqual([undefined]);
  });

  it('include the extremes of the total of a stack, in the unit of the chart', () => {
    const total = { uids: ['1'], metric: 'total_req', scale: 2 };
    const { columns, requested } = read([{ uids: ['1'], metric: 'conns' }], total);
    expect(requested).toEqual(['conns', 'conns_max', 'total_req_max', 'total_req_min']);
    expect(columns.total).toEqual({ low: of(0, 10), high: of(30, 180) });
  });
});

describe('reason for missing data', () => {
  it('is the lost connection if no sample has arrived', () => {
    const source = seriesSource(
      { edge: () => NOW, ring: () => new TopicRing() } as unknown as Live,
      { window: () => ({ from: NOW - 60, to: NOW }) } as TimeAxis,
      { topic: 'cluster', series: [{ uids: ['cluster'], metric: 'total_req' }] },
    );
    expect(source.reason?.()).toBeUndefined();
    lostSince.set(NOW * 1000);
    expect(source.reason?.()).toContain('connection to the console was lost');
    lostSince.set(null);
  });
});
