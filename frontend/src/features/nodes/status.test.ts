import { describe, expect, it } from 'vitest';
import type { Node } from '@/api/types';
import { nodeState } from './status';

const node = (part: Partial<Node> = {}) =>
  ({ uid: 2, status: 'active', agent_status: 'connected', ...part }) as Node;

describe('nodeState', () => {
  it('gives failures precedence over maintenance and removal', () => {
    expect(nodeState(node({ in_maintenance: true })).text).toBe('In maintenance');
    expect(nodeState(node({ status: 'decommissioning' })).text).toBe('Being removed');
    expect(nodeState(node({ in_maintenance: true, status: 'down' })).text).toBe('Down');
    expect(nodeState(node()).tone).toBe('ok');
  });
});
