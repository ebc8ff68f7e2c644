import { describe, expect, it } from 'vitest';
import {
  axisLabels,
  format,
  formatExact,
  formatWithoutUnit,
  plural,
  UNKNOWN,
  type Unit,
  unitLabel,
} from './format';

const formatted = (unit: Unit, value: number | null | undefined) =>
  format(unit, value).replaceAll('\u00a0', ' ');

describe('format', () => {
  it.each([
    ['ops', 94_234, '94.2 k ops/s'],
    ['ops', 0, '0 ops/s'],
    ['ops', 999.6, '1 k ops/s'],
    ['ops', 1_234_567, '1.23 M ops/s'],
    ['bytes', 1.8 * 2 ** 30, '1.8 GiB'],
    ['bytes', 512, '512 B'],
    ['bytes', 1023.9, '1 KiB'],
    ['bytesPerSecond', 2.5 * 2 ** 20, '2.5 MiB/s'],
    ['ratio', 0.97, '97%'],
    ['ratio', 1, '100%'],
    ['ms', 0.312, '0.312 ms'],
    ['ms', 1500, '1.5 s'],
    ['latency', 0, '0 ms'],
    ['latency', 310.4, '0.31 ms'],
    ['latency', 0.2, '<0.001 ms'],
    ['latency', 1_234, '1.23 ms'],
    ['latency', 999_600, '1 s'],
    ['latency', 2_300_000, '2.3 s'],
    ['microseconds', 0, '0 µs'],
    ['microseconds', 310.4, '310 µs'],
    ['microseconds', 999.6, '1 ms'],
    ['microseconds', 1_234, '1.23 ms'],
    ['count', 812_345, '812 k'],
    ['cores', 0.05, '0.05 cores'],
    ['cores', 0.006_94, '0.007 cores'],
    ['cores', 0.000_02, '<0.001 cores'],
    ['perSecond', 136.2, '136 /s'],
  ] as const)('%s %d is %s', (unit, value, text) => {
    expect(formatted(unit, value)).toBe(text);
  });

  it('formats unknown values as a dash, never as zero', () => {
    for (const value of [null, undefined, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(format('ops', value)).toBe(UNKNOWN);
      expect(formatExact('bytes', value)).toBe(UNKNOWN);
      expect(formatWithoutUnit('bytes', value)).toBe(UNKNOWN);
    }
  });

  it('omits the unit that a heading shows', () => {
    expect(formatWithoutUnit('ops', 94_234).replaceAll('\u00a0', ' ')).toBe('94.2 k');
    expect([formatWithoutUnit('latency', 2_345_000), unitLabel('latency')]).toEqual([
      '2,345',
      'ms',
    ]);
    expect([formatWithoutUnit('ms', 0.3124), unitLabel('ms')]).toEqual(['0.312', 'ms']);
  });

  it('keeps the exact number for tooltips', () => {
    expect(formatExact('ops', 94_234.5).replaceAll('\u00a0', ' ')).toBe('94,235 ops/s');
    expect(formatExact('ratio', 0.12345).replaceAll('\u00a0', ' ')).toBe('12.345%');
  });

  it('scales all ticks of an axis alike', () => {
    const labels = (unit: Unit, ...ticks: number[]) =>
      axisLabels(unit, ticks).map((text) => text.replaceAll('\u00a0', ' '));
    expect(labels('bytes', 0, 2 ** 29, 2 ** 30)).toEqual(['0', '0.5 GiB', '1 GiB']);
    expect(labels('latency', 0, 500, 1_000)).toEqual(['0', '0.5 ms', '1 ms']);
  });

  it('formats counts with nouns', () => {
    expect(plural(1, 'shard').replaceAll('\u00a0', ' ')).toBe('1 shard');
    expect(plural(1234, 'shard').replaceAll('\u00a0', ' ')).toBe('1,234 shards');
  });
});
