import { afterEach, describe, expect, it } from 'vitest';
import { clock, formatDateTime } from '@/lib/time';
import { stepFor, ticksOf } from './ticks';

const at = (text: string) => Date.parse(text) / 1000;
const originalZone = process.env.TZ;

/** Return the labels inside a window in the local time of a time zone. */
function labels(timeZone: string, from: string, to: string, maxTicks: number): string[] {
  process.env.TZ = timeZone;
  return ticksOf(at(from), at(to), stepFor(at(to) - at(from), maxTicks), 'local')
    .filter((second) => second >= at(from) && second <= at(to))
    .map((second) => formatDateTime(second * 1000, 'local').slice(5, 16));
}

describe('ticksOf', () => {
  afterEach(() => {
    process.env.TZ = originalZone ?? '';
    if (originalZone === undefined) delete process.env.TZ;
  });

  it('uses a round step and extends beyond both ends', () => {
    expect(stepFor(300, 8)).toBe(60);
    const ticks = ticksOf(1003, 1303, 60, 'utc');
    expect(ticks[0]).toBe(960);
    expect(ticks.at(-1)).toBeGreaterThan(1303);
  });

  it('places labels at round local times in India', () => {
    expect(labels('Asia/Kolkata', '2026-03-04T00:00:00Z', '2026-03-04T06:00:00Z', 6)).toEqual(
      ['06:00', '07:00', '08:00', '09:00', '10:00', '11:00'].map((time) => `03-04 ${time}`),
    );
    expect(labels('Asia/Kolkata', '2026-03-01T00:00:00Z', '2026-03-04T00:00:00Z', 3)).toEqual(
      ['02', '03', '04'].map((day) => `03-${day} 00:00`),
    );
  });

  it('keeps round local times across a daylight saving change', () => {
    expect(labels('Europe/Berlin', '2026-03-27T12:00:00Z', '2026-03-31T12:00:00Z', 4)).toEqual(
      ['28', '29', '30', '31'].map((day) => `03-${day} 00:00`),
    );
    const spring = labels('Europe/Berlin', '2026-03-29T00:00:00Z', '2026-03-29T03:00:00Z', 3);
    expect(spring).toEqual(['01:00', '03:00', '04:00', '05:00'].map((time) => `03-29 ${time}`));
  });

  it('uses UTC if selected', () => {
    process.env.TZ = 'Asia/Kolkata';
    const ticks = ticksOf(at('2026-03-04T00:10:00Z'), at('2026-03-04T02:10:00Z'), 3600, 'utc');
    expect(ticks.map((second) => clock(second * 1000, 'utc').slice(0, 5))).toContain('01:00');
  });
});
