import { describe, expect, it } from 'vitest';
import { TopicRing } from './ring';

function ring(capacity = 10): TopicRing {
  const buffer = new TopicRing(capacity);
  buffer.setMetrics(['ops', 'memory']);
  return buffer;
}

const numbers = (values: Float64Array) => Array.from(values);

describe('TopicRing', () => {
  it('keeps the newest seconds and returns NaN for all others', () => {
    const r = ring();
    for (let t = 100; t < 115; t += 1) r.write(t, '1', [t, t * 2]);
    expect(r.newest).toBe(114);
    expect(numbers(r.read('1', 'ops', 104, 106))).toEqual([Number.NaN, 105, 106]);
    expect(numbers(r.read('1', 'memory', 113, 116))).toEqual([226, 228, Number.NaN, Number.NaN]);
  });

  it('returns gaps for seconds without a sample instead of overwritten values', () => {
    const r = ring();
    for (let t = 100; t < 110; t += 1) r.write(t, '1', [t, t]);
    r.write(113, '1', [113, 113]);
    expect(numbers(r.read('1', 'ops', 109, 113))).toEqual([
      109,
      Number.NaN,
      Number.NaN,
      Number.NaN,
      113,
    ]);
  });

  it('clears old seconds of series without new samples', () => {
    const r = ring();
    r.write(100, '1', [1, 1]);
    r.write(100, '2', [2, 2]);
    r.write(110, '1', [3, 3]);
    expect(r.read('2', 'ops', 110, 110)[0]).toBeNaN();
  });

  it('clears all values after a pause longer than the capacity', () => {
    const r = ring();
    for (let t = 100; t < 110; t += 1) r.write(t, '1', [t, t]);
    r.write(500, '1', [5, 5]);
    expect(numbers(r.read('1', 'ops', 491, 500)).filter((v) => !Number.isNaN(v))).toEqual([5]);
  });

  it('accepts late samples, prefers newer values and ignores null', () => {
    const r = ring();
    r.write(105, '1', [5, 50]);
    r.write(103, '1', [3, null]);
    r.write(105, '1', [null, 51]);
    expect(numbers(r.read('1', 'ops', 103, 105))).toEqual([3, Number.NaN, 5]);
    expect(r.read('1', 'memory', 105, 105)[0]).toBe(51);
    expect(r.newest).toBe(105);
  });

  it('ignores samples older than its capacity', () => {
    const r = ring();
    r.write(120, '1', [1, 1]);
    r.write(110, '1', [9, 9]);
    expect(r.latest('1', 'ops')).toBe(1);
    expect(r.read('1', 'ops', 110, 110)[0]).toBeNaN();
  });

  it('inserts history, even if it exceeds the capacity', () => {
    const r = ring();
    const ops = Array.from({ length: 15 }, (_, i) => (i === 13 ? null : i));
    r.fill(100, '1', [ops, ops]);
    expect(r.newest).toBe(114);
    expect(numbers(r.read('1', 'ops', 104, 114))).toEqual([
      Number.NaN,
      5,
      6,
      7,
      8,
      9,
      10,
      11,
      12,
      Number.NaN,
      14,
    ]);
  });

  it('returns the latest value of the last seconds only', () => {
    const r = ring();
    r.write(100, '1', [7, null]);
    r.advance(102);
    expect(r.latest('1', 'ops')).toBe(7);
    r.advance(104);
    expect(r.latest('1', 'ops')).toBeNaN();
    expect(r.latest('1', 'memory')).toBeNaN();
    expect(r.latest('9', 'ops')).toBeNaN();
  });

  it('removes series without samples in the entire window', () => {
    const r = ring();
    r.fill(100, 'deleted', [
      [1, 1],
      [1, 1],
    ]);
    for (let t = 100; t < 190; t += 1) r.write(t, 'stays', [t, t]);
    expect(r.size).toBe(1);
    expect(r.latest('stays', 'ops')).toBe(189);
    r.write(190, 'deleted', [7, 7]);
    expect(r.latest('deleted', 'ops')).toBe(7);
  });

  it('clears all values when the metrics change', () => {
    const r = ring();
    r.write(100, '1', [1, 2]);
    r.setMetrics(['ops', 'memory']);
    expect(r.latest('1', 'ops')).toBe(1);
    r.setMetrics(['memory']);
    expect(r.latest('1', 'memory')).toBeNaN();
  });
});
