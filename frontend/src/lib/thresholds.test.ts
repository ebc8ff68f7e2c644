import { describe, expect, it } from 'vitest';
import { cpuAlert, memoryAlert } from './thresholds';

describe('thresholds', () => {
  it.each([
    [0.5, undefined],
    [0.8, 'attention'],
    [0.95, 'broken'],
    [22.3 / 14, 'broken'],
  ])('%f of the memory: %s', (share, tone) => expect(memoryAlert(share)).toBe(tone));

  it('highlights a busy processor', () => {
    expect([0.5, 0.97].map(cpuAlert)).toEqual([undefined, 'attention']);
  });
});
