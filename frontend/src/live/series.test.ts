import { describe, expect, it } from 'vitest';
import type { TimeAxis } from '@/ui/chart/types';
import type { PastColumns } from './columns';
import type { Live } from './live';
import { TopicRing } from './ring';
import { type SeriesWanted, seriesSource } from './series';

const NOW = 1_700_000_000;
const FROM = NOW - 7_200;
const of = (...values: number[]) => Float64Array.from(values);

/** Two intervals of ten seconds, long past, of two databases. */
const PAST: PastColumns = {
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

function read(series: SeriesWanted['series'], whole?: SeriesWanted['series'][number]) {
  const wanted: string[] = [];
  const live = {
    edge: () => NOW,
    ring: () => new TopicRing(),
    onTick: () => () => undefined,
    past: {
      of: () => ({
        columns: PAST,
        want: () => undefined,
        add: () => undefined,
        subscribe: (metrics: string[]) => {
          wanted.push(...metrics);
          return () => undefined;
        },
      }),
    },
  } as unknown as Live;
  const axis = { window: () => ({ from: FROM, to: FROM + 20 }) } as TimeAxis;
  const source = seriesSource(live, axis, { topic: 'bdbs', series, ...(whole && { whole }) });
  source.subscribe(() => undefined);
  return { columns: source.read(FROM, FROM + 20), wanted };
}

describe('what a chart reads of the past', () => {
  it('has the lowest and the highest second of one object', () => {
    const { columns, wanted } = read([{ uids: ['1'], metric: 'total_req' }]);
    expect(wanted).toEqual(['total_req', 'total_req_max', 'total_req_min']);
    expect(columns.rows).toEqual([of(10, 20)]);
    expect(columns.extremes).toEqual([{ low: of(0, 5), high: of(15, 90) }]);
  });

  it('has no lowest second where nobody keeps it', () => {
    const { columns } = read([{ uids: ['1'], metric: 'conns' }]);
    expect(columns.extremes).toEqual([{ low: of(Number.NaN, Number.NaN), high: of(4, 4) }]);
  });

  it('has none of several: the highest second of a sum is not the sum of the highest', () => {
    const { columns } = read([{ uids: ['1', '2'], metric: 'total_req' }]);
    expect(columns.rows).toEqual([of(11, 22)]);
    expect(columns.extremes).toEqual([undefined]);
  });

  it('has those of what a stack adds up to, in the unit of the chart', () => {
    const whole = { uids: ['1'], metric: 'total_req', scale: 2 };
    const { columns, wanted } = read([{ uids: ['1'], metric: 'conns' }], whole);
    expect(wanted).toEqual(['conns', 'conns_max', 'total_req_max', 'total_req_min']);
    expect(columns.whole).toEqual({ low: of(0, 10), high: of(30, 180) });
  });
});
