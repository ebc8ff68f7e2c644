// @dom
import { render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { NodeAlarms } from './NodeAlarms';

const alarms = [
  {
    uid: 1,
    type: 'alarm_recovery_copies',
    source: 'node',
    node_uid: 2,
    reason: 'too large: bdb-1',
  },
  { uid: 2, type: 'alarm_recovery_copies', source: 'node', node_uid: 3, reason: 'unreachable' },
  { uid: 3, type: 'alarm_flash_full', source: 'shard', node_uid: 2, shard_uid: 4 },
].map((alarm) => ({ severity: 'WARNING', description: '', time_ms: 1, open: true, ...alarm }));

vi.mock('@/api/alerting/health', () => ({ useActiveAlarms: () => alarms }));
afterEach(() => vi.clearAllMocks());

describe('NodeAlarms', () => {
  it('shows the alarms of this node only', () => {
    render(<NodeAlarms node={2} />);
    expect(screen.getAllByText(/Node/)).toHaveLength(1);
    expect(screen.getByText(/too large: bdb-1/)).toBeTruthy();
  });
});
