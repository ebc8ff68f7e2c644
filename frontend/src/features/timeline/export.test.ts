import { describe, expect, it } from 'vitest';
import { toCsv } from './export';
import { resync } from './outageEvents.fixture';

describe('toCsv', () => {
  it('writes one line per event with the duration of spans in seconds', () => {
    const [head, first] = toCsv([resync(14, 2, 42, { description: 'a "b", c' })]).split('\n');
    expect(head).toMatch(/^uid,time,ended,seconds/);
    expect(first).toBe(
      '14,2026-03-01T04:00:42.000Z,2026-03-01T04:00:52.000Z,10,resync,INFO,2,1,2,,system,"a ""b"", c"',
    );
  });
});
