import { describe, expect, it } from 'vitest';
import type { LogEvent } from '@/api/types';
import { eventMarks } from './marks';

describe('eventMarks', () => {
  const event = (part: Partial<LogEvent>) =>
    ({
      uid: 1,
      time_ms: 1_000,
      type: 'bdb_created',
      severity: 'INFO',
      description: 'x',
      ...part,
    }) as LogEvent;

  it('shows events of the database and failures of nodes', () => {
    const events = [
      event({ bdb_uid: 1, description: 'mine' }),
      event({ bdb_uid: 2, description: 'other' }),
      event({ node_uid: 1, severity: 'ERROR', description: 'node down' }),
      event({ node_uid: 1, description: 'node joined' }),
    ];
    expect(eventMarks(events, { bdb: 1 }).map(({ label }) => label)).toEqual(['mine', 'node down']);
    expect(eventMarks(events, { bdb: 1 })[1]?.tone).toBe('error');
  });

  it('omits sign-ins and events that repeat an outage', () => {
    expect(eventMarks([event({ type: 'login' }), event({ type: 'replica_in_sync' })])).toEqual([]);
  });

  it('shows spans as bands and merges overlapping resyncs', () => {
    const resync = (uid: number, from: number, to: number | null) =>
      event({
        uid,
        type: 'resync',
        time_ms: from,
        ...(to === null ? { open: true } : { ended_ms: to }),
      });
    const down = event({ uid: 9, type: 'node_failed', severity: 'ERROR', open: true });
    const found = eventMarks([
      down,
      resync(1, 2_000, 4_000),
      resync(2, 3_000, 6_000),
      resync(3, 9_000, null),
    ]);
    expect(found.map(({ at, until, events }) => [at, until, events])).toEqual([
      [1_000, null, '9'],
      [2_000, 6_000, '1,2'],
      [9_000, null, '3'],
    ]);
    expect(found[1]).toMatchObject({ label: 'Resync of 2\u00a0replicas', tone: 'progress' });
  });

  it('merges events that are close together into one line with the worst tone', () => {
    const flood = Array.from({ length: 300 }, (_, index) =>
      event({ uid: index, time_ms: index * 10, severity: index === 7 ? 'ERROR' : 'INFO' }),
    );
    const found = eventMarks(flood, {}, 1_000);
    expect(found.map(({ at, tone }) => [at, tone])).toEqual([
      [0, 'error'],
      [1_000, 'info'],
      [2_000, 'info'],
    ]);
    expect(found.flatMap(({ events }) => events.split(','))).toHaveLength(300);
    expect(found[0]?.label).toBe('x\nx\nx\nx\nand 96 more');
  });

  it('merges overlapping alarms of the same type into one band', () => {
    const alarm = (uid: number, from: number, to: number) =>
      event({ uid, type: 'alarm_clock', severity: 'WARNING', time_ms: from, ended_ms: to });
    const found = eventMarks([alarm(1, 1_000, 5_000), alarm(2, 2_000, 9_000)]);
    expect(found.map(({ at, until, tone }) => [at, until, tone])).toEqual([
      [1_000, 9_000, 'warning'],
    ]);
  });
});
