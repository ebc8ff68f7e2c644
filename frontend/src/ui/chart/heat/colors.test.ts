import { describe, expect, it } from 'vitest';
import { colorScale, scaleLabels, shades, shareOf } from './colors';

describe('colorScale', () => {
  it('extends from a power of ten to a round number', () => {
    expect(colorScale([1, 4_300])).toEqual({ low: 1, high: 5_000 });
    expect(colorScale([3, 1_100])).toEqual({ low: 1, high: 2_000 });
    expect(colorScale([0.3, 99])).toEqual({ low: 0.1, high: 100 });
    expect(colorScale([1, 1])).toEqual({ low: 1, high: 10 });
    expect(colorScale([7, 7])).toEqual({ low: 1, high: 10 });
  });

  it('is limited to six powers of ten', () => {
    expect(colorScale([0.0001, 90_000])).toEqual({ low: 0.1, high: 100_000 });
  });
});

describe('shareOf', () => {
  const scale = { low: 1, high: 10_000 };

  it('is logarithmic and limited to the scale', () => {
    expect([0.01, 1, 100, 10_000, 1e6].map((rate) => shareOf(rate, scale))).toEqual([
      0, 0, 0.5, 1, 1,
    ]);
  });

  it('matches the labels of the legend', () => {
    expect(scaleLabels(scale)).toEqual([
      { rate: 1, position: 0 },
      { rate: 10, position: 0.25 },
      { rate: 100, position: 0.5 },
      { rate: 1_000, position: 0.75 },
      { rate: 10_000, position: 1 },
    ]);
  });

  it('labels the end of the scale if there is space', () => {
    const rates = (high: number) => scaleLabels({ low: 1, high }).map(({ rate }) => rate);
    expect(rates(500)).toEqual([1, 10, 100, 500]);
    expect(rates(200)).toEqual([1, 10, 100, 200]);
    expect(rates(2_000)).toEqual([1, 10, 100, 1_000]);
  });
});

describe('shades', () => {
  it('interpolates from the first to the last stop', () => {
    expect(shades(['#000000', '#102030', '#ffffff'], 5)).toEqual([
      'rgb(0 0 0)',
      'rgb(8 16 24)',
      'rgb(16 32 48)',
      'rgb(136 144 152)',
      'rgb(255 255 255)',
    ]);
  });
});
