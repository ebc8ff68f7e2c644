import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { LatencyHistory } from '@/api/history';
import { HeatPast, type HeatWanted, joined, pauseMs, toColumns } from './heat';

const NOW = 1_700_000_000;

/** Columns of `step` seconds in each of which `requests` took 100 µs; `silent` of them were not counted. */
function reply(
  { from, to, step = 1, perDecade = 20 }: HeatWanted,
  requests = 1,
  silent: number[] = [],
): LatencyHistory {
  const count = Math.ceil((to - from) / step);
  const at = Array.from({ length: count }, (_, index) => from + index * step);
  return {
    resolution: '1sec',
    from,
    step,
    count,
    kind: 'all',
    per_decade: perDecade,
    lowest: 40,
    bounds: [100, 112.2],
    seconds: at.map((second) => (silent.includes(second) ? 0 : step)),
    columns: at.map((second) => (silent.includes(second) ? [] : [0, requests])),
  };
}

describe('toColumns', () => {
  it('counts rows from the same place, whatever the lowest row of a reply is', () => {
    const columns = toColumns({
      ...reply({ from: 100, to: 102 }),
      columns: [[3, 7, 8], []],
      seconds: [1, 0],
    });
    expect(columns.get(100)).toEqual({ seconds: 1, row: 43, counts: [7, 8] });
    expect(columns.get(101)).toEqual({ seconds: 0, row: 40, counts: [] });
  });
});

describe('joined', () => {
  it('believes what was told later, and forgets what is out of sight', () => {
    const older = toColumns(reply({ from: 100, to: 104 }, 1));
    const newer = toColumns(reply({ from: 103, to: 106 }, 2));
    const found = joined(older, newer, 102);
    expect([...found].map(([at, { counts }]) => [at, counts[0]])).toEqual([
      [102, 1],
      [103, 2],
      [104, 2],
      [105, 2],
    ]);
  });
});

describe('pauseMs', () => {
  it('follows the width of a column within limits', () => {
    expect([1, 3, 20, 300].map(pauseMs)).toEqual([2_000, 2_000, 10_000, 30_000]);
  });
});

describe('HeatPast', () => {
  let now: number;
  let asked: HeatWanted[];
  let answer: (wanted: HeatWanted) => LatencyHistory;
  let past: HeatPast;
  const settled = () => Promise.resolve().then(() => Promise.resolve());
  const want = async (from: number, to: number) => {
    past.want({ from, to });
    await settled();
  };
  const pass = async (seconds: number) => {
    now += seconds;
    await want(now - 60, now);
  };

  beforeEach(() => {
    now = NOW;
    asked = [];
    answer = (wanted) => reply(wanted);
    past = new HeatPast(
      async (wanted) => {
        asked.push(wanted);
        return answer(wanted);
      },
      () => now * 1_000,
      () => undefined,
    );
  });

  it('reads the window once, and then what may have changed since, in the same grid', async () => {
    await want(NOW - 60, NOW);
    await want(NOW - 60, NOW);
    expect(asked).toEqual([{ from: NOW - 60, to: NOW }]);
    await pass(1);
    expect(asked.length, 'not every second').toBe(1);
    await pass(1);
    expect(asked[1]).toEqual({ from: NOW - 6, to: NOW + 2, step: 1, perDecade: 20 });
    const { columns } = past.read(NOW - 58, NOW + 2);
    expect(columns.length).toBe(60);
    expect(columns.every((column) => column?.counts[0] === 1)).toBe(true);
  });

  it('ends the request when nobody looks any more, and asks anew', async () => {
    const signals: AbortSignal[] = [];
    const left = new HeatPast(
      (wanted, signal) => {
        signals.push(signal);
        return Promise.resolve(reply(wanted));
      },
      () => now * 1_000,
      () => undefined,
    );
    left.want({ from: NOW - 60, to: NOW });
    left.leave();
    await Promise.resolve();
    expect(signals[0]?.aborted).toBe(true);
    expect(left.pending, 'what was cancelled is not read').toBe(true);
    left.want({ from: NOW - 60, to: NOW });
    await vi.waitFor(() => expect(left.pending).toBe(false));
  });

  it('reads anew what has another length, an earlier beginning, or came after a long time', async () => {
    await want(NOW - 60, NOW);
    await want(NOW - 300, NOW);
    await want(NOW - 400, NOW - 100);
    now += 3_600;
    await want(now - 300, now);
    expect(asked.map(({ step }) => step)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('asks no more about what is long past', async () => {
    await want(NOW - 600, NOW - 300);
    now += 60;
    await want(NOW - 600, NOW - 300);
    expect(asked.length).toBe(1);
  });

  it('calls nothing a gap that may still be told', async () => {
    answer = (wanted) => reply(wanted, 1, [NOW - 20, NOW - 2, NOW - 1]);
    await want(NOW - 60, NOW);
    const { columns } = past.read(NOW - 60, NOW);
    expect(columns[40]?.seconds).toBe(0);
    expect(columns.slice(58)).toEqual([undefined, undefined]);
  });

  it('says why there is nothing, tries again after a while, and keeps what it has', async () => {
    const works = answer;
    answer = () => {
      throw new Error('no');
    };
    expect(past.pending).toBe(true);
    await want(NOW - 60, NOW);
    expect(past.pending).toBe(false);
    expect(past.reason).toBe('The stored history could not be read: no');
    await pass(1);
    expect(asked.length).toBe(1);
    answer = works;
    await pass(5);
    expect(past.reason).toBeUndefined();
    answer = () => {
      throw new Error('no');
    };
    await pass(2);
    expect(past.reason).toBeUndefined();
    expect(past.read(now - 60, now - 5).columns[0]?.counts).toEqual([1]);
  });
});
