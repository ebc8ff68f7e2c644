import { describe, expect, it } from 'vitest';
import { latencyReason } from './useLatencyReason';

const down = (detail = '') => ({ status: 'down' as const, detail });

describe('latencyReason', () => {
  it('reports the endpoint only if none of its proxies is running', () => {
    expect(latencyReason([])).toBeUndefined();
    expect(latencyReason([down(), { status: 'active', detail: '' }])).toBeUndefined();
    expect(latencyReason([down(), down('Port 12000 is taken.')])).toBe(
      'The endpoint is not running. Port 12000 is taken.',
    );
  });
});
