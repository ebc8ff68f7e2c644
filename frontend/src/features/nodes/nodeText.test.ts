import { describe, expect, it } from 'vitest';
import type { Node, Shard } from '@/api/types';
import { nodeRemovalText, nodeShardsText } from './nodeText';

const node = (part: Partial<Node> = {}) =>
  ({ uid: 2, status: 'active', agent_status: 'connected', ...part }) as Node;
const shard = (role: Shard['role']) => ({ role }) as Shard;
const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('nodeShardsText', () => {
  it('counts primaries and replicas', () => {
    expect(plain(nodeShardsText(2, [shard('master'), shard('slave'), shard('slave')]))).toBe(
      'Node 2 holds 1 primary and 2 replicas.',
    );
    expect(plain(nodeShardsText(2, [shard('slave')]))).toBe('Node 2 holds 1 replica.');
    expect(nodeShardsText(2, [])).toBe('Node 2 holds no shards.');
  });
});

describe('nodeRemovalText', () => {
  it('distinguishes reachable and unreachable nodes', () => {
    expect(nodeRemovalText(node(), [shard('master')])).toContain('They move to other nodes first.');
    expect(nodeRemovalText(node({ status: 'down' }), [shard('slave')])).toContain(
      'rebuilt on other nodes',
    );
    expect(nodeRemovalText(node(), [])).not.toContain('move');
  });
});
