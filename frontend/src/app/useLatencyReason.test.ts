import { describe, expect, it } from 'vitest';
import { whyUnmeasured } from './useLatencyReason';

const down = (detail = '') => ({ status: 'down' as const, detail });

describe('whyUnmeasured', () => {
  it('reports the endpoint only if none of its proxies is running', () => {
    expect(whyUnmeasured([])).toBeUndefined();
    expect(whyUnmeasured([down(), { status: 'active', detail: '' }])).toBeUndefined();
    expect(whyUnmeasured([down(), down('Port 12000 is taken.')])).toBe(
      'The endpoint is not running. Port 12000 is taken.',
    );
  });
});
