import { describe, expect, it, vi } from 'vitest';
import { chartsOf } from './timeline';

// A plot wants a browser; which charts there are does not.
vi.mock('@/features/metrics/MetricChart', () => ({ MetricChart: () => null }));
vi.mock('@/features/timeline/Timeline', () => ({ Timeline: () => null }));
vi.mock('@/features/timeline/Incidents', () => ({ Incidents: () => null }));

describe('the charts of the timeline', () => {
  it('are those of what the lanes are narrowed to', () => {
    expect(chartsOf({}).map(({ topic }) => topic)).toEqual(['cluster', 'cluster']);
    expect(chartsOf({ bdb: 3 })).toMatchObject([
      { topic: 'bdbs', uid: '3' },
      { topic: 'bdbs', uid: '3' },
    ]);
    expect(chartsOf({ node: 2 })[0]).toMatchObject({ topic: 'nodes', uid: '2' });
  });
});
