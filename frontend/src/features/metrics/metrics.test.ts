import { describe, expect, it } from 'vitest';
import type { LogEvent } from '@/api/types';
import { marksOf } from './marks';
import { byOutlier } from './outliers';

const flat = (value: number) => new Float64Array(5).fill(value);

describe('byOutlier', () => {
  it('puts silent shards first, then those far from the median, then by number', () => {
    const ranked = byOutlier([
      { uid: '10', values: flat(10) },
      { uid: '2', values: flat(10) },
      { uid: '6', values: flat(10) },
      { uid: '3', values: flat(90) },
      { uid: '4', values: flat(11) },
      { uid: '5', values: flat(Number.NaN) },
    ]);
    expect(ranked.map(({ uid }) => uid)).toEqual(['5', '3', '4', '2', '6', '10']);
  });
});

describe('marksOf', () => {
  const event = (part: Partial<LogEvent>) =>
    ({
      uid: 1,
      time: '2026-01-01T00:00:00Z',
      type: 'bdb_created',
      severity: 'INFO',
      description: 'x',
      ...part,
    }) as LogEvent;

  it('shows what concerns the database, and troubles of nodes', () => {
    const events = [
      event({ bdb_uid: 1, description: 'mine' }),
      event({ bdb_uid: 2, description: 'other' }),
      event({ node_uid: 1, severity: 'ERROR', description: 'node down' }),
      event({ node_uid: 1, description: 'node joined' }),
    ];
    expect(marksOf(events, { bdb: 1 }).map(({ label }) => label)).toEqual(['mine', 'node down']);
    expect(marksOf(events, { bdb: 1 })[1]?.tone).toBe('error');
  });

  it('leaves out logins and events without a time', () => {
    expect(marksOf([event({ type: 'login' }), event({ time: 'never' })])).toEqual([]);
  });
});
