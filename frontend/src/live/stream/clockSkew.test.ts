import { describe, expect, it } from 'vitest';
import { ClockSkew } from './clockSkew';

describe('ClockSkew', () => {
  it('ignores network latency', () => {
    const skew = new ClockSkew();
    skew.onHello(1_000_000, 1_000_400);
    expect(skew.offset).toBe(0);
  });

  it('corrects the effect of a delayed greeting with later samples', () => {
    const skew = new ClockSkew();
    skew.onHello(1_000_000, 1_009_000);
    expect(skew.offset).toBe(-9_000);
    skew.onSample(1_010_000, 1_010_300);
    expect(skew.offset).toBe(0);
  });

  it('keeps a real skew in both directions', () => {
    const ahead = new ClockSkew();
    ahead.onHello(1_060_000, 1_000_000);
    ahead.onSample(1_061_000, 1_001_400);
    expect(ahead.offset).toBe(60_000);
    const behind = new ClockSkew();
    behind.onHello(1_000_000, 1_060_000);
    behind.onSample(1_001_000, 1_061_200);
    expect(behind.offset).toBe(-60_000);
  });
});
