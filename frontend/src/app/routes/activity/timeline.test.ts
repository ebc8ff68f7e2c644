// @dom
import { describe, expect, it, vi } from 'vitest';
import { chartsOf } from './timeline';

// Plots require a browser; the list of charts does not.
vi.mock('@/features/metrics/MetricChart', () => ({ MetricChart: () => null }));
vi.mock('@/features/timeline/Timeline', () => ({ Timeline: () => null }));

describe('chartsOf', () => {
  it('returns the charts of the filtered object', () => {
    expect(chartsOf({}).map(({ topic }) => topic)).toEqual(['cluster', 'cluster']);
    expect(chartsOf({ bdb: 3 })).toMatchObject([
      { topic: 'bdbs', uid: '3' },
      { topic: 'bdbs', uid: '3' },
    ]);
    expect(chartsOf({ node: 2 })[0]).toMatchObject({ topic: 'nodes', uid: '2' });
  });
});
