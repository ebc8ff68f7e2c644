import { describe, expect, it } from 'vitest';
import { colorMetric, heatStep, topicOf } from './colors';

describe('heatStep', () => {
  it('returns the step of a value on the scale, and null without a value', () => {
    expect(heatStep(50, 200)).toBe(5);
    expect(heatStep(300, 200)).toBe(20);
    expect(heatStep(0, 0)).toBe(0);
    expect(heatStep(Number.NaN, 10)).toBeNull();
  });
});

describe('colorMetric', () => {
  it('offers the hit ratio only for flash databases', () => {
    const ratio = colorMetric('ram_hit_ratio', true);
    expect([ratio.metric, ratio.top, topicOf(7, ratio)]).toEqual([
      'ram_hit_ratio',
      1,
      'flash_shards:7',
    ]);
    const other = colorMetric('ram_hit_ratio', false);
    expect([other.metric, topicOf(7, other)]).toEqual(['total_req', 'shards:7']);
    expect(colorMetric(undefined, true).metric).toBe('total_req');
  });
});
