import { describe, expect, it } from 'vitest';
import type { LogEvent } from '../types';
import { cpuTone, memoryTone, shardMemoryTone } from './alarmTones';

const alarm = (type: string, values: object) =>
  ({
    type,
    time: '2026-01-01T00:00:00Z',
    severity: 'WARNING',
    description: type,
    ...values,
  }) as unknown as LogEvent;

const BUSY = [1, 2, 3].map((node_uid) =>
  alarm('alarm_node_cpu_utilization', { node_uid, threshold: 90 }),
);

describe('tones', () => {
  it('highlight the CPU of a node exactly while its alarm is active', () => {
    expect(cpuTone([], 1)).toBeUndefined();
    expect(cpuTone(undefined, 1)).toBeUndefined();
    expect(cpuTone(BUSY.slice(0, 1), 1)).toBe('attention');
    expect(cpuTone(BUSY.slice(0, 1), 2)).toBeUndefined();
  });

  it('highlight the memory of a database and of its shards by its alarms', () => {
    const size = alarm('alarm_bdb_size', { bdb_uid: 1, threshold: 80 });
    const full = alarm('alarm_memory_full', { bdb_uid: 1, shards: [4], severity: 'ERROR' });
    expect([memoryTone([size], 1), memoryTone([size], 2), memoryTone([size, full], 1)]).toEqual([
      'attention',
      undefined,
      'broken',
    ]);
    expect(shardMemoryTone([size, full], 1, '4', 0.5)).toBe('broken');
    expect([0.79, 0.81].map((share) => shardMemoryTone([size, full], 1, '5', share))).toEqual([
      undefined,
      'attention',
    ]);
    expect(shardMemoryTone([], 1, '5', 1)).toBeUndefined();
  });
});
