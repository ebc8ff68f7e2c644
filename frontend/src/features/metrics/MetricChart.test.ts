import { describe, expect, it } from 'vitest';
import { DATABASE_CHARTS } from './declarations/dashboards';
import { chartSeries } from './MetricChart';

describe('chartSeries', () => {
  const usage = DATABASE_CHARTS.find(({ id }) => id === 'memory-usage');

  it('draws no usage of a database without a memory limit instead of 0%', () => {
    if (!usage) throw new Error('no such chart');
    expect(chartSeries(usage, ['1'], { memory_size: 0 })).toMatchObject([{ uids: [] }]);
    expect(chartSeries(usage, ['1'], { memory_size: 200 })).toMatchObject([
      { uids: ['1'], scale: 1 / 200 },
    ]);
  });
});
