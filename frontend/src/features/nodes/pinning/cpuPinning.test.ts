import { describe, expect, it } from 'vitest';
import { shardCoresText } from '@/api/cluster/nodes';
import type { CpuPinning, Node } from '@/api/types';
import { coresText, pinningText } from './cpuPinning';

const OFF: CpuPinning = { mode: 'off', shards: '', proxy: '', cores_per_shard: 0 };

describe('pinningText', () => {
  it.each<[Partial<CpuPinning>, string]>([
    [{}, 'All cores'],
    [{ mode: 'numa' }, 'Shards: one NUMA node each. Proxy: all cores'],
    [{ mode: 'numa', proxy: '0-3' }, 'Shards: one NUMA node each. Proxy: cores 0-3'],
    [{ mode: 'cores', shards: '1-3' }, 'Shards: cores 1-3. Proxy: all cores'],
    [
      { mode: 'cores', shards: '0-7', cores_per_shard: 2 },
      'Shards: cores 0-7, 2 per shard. Proxy: all cores',
    ],
    [{ mode: 'cores', proxy: '0' }, 'Shards: all cores. Proxy: cores 0'],
  ])('describes %o', (changes, text) => {
    expect(pinningText({ ...OFF, ...changes })).toBe(text);
  });
});

it('describes NUMA nodes, hyper-threads, and offline cores', () => {
  const numa_nodes = [
    { id: 0, cores: '0-1,4-5' },
    { id: 1, cores: '2-3,6' },
    { id: 2, cores: '' },
  ];
  expect(
    coresText({ cores: 7, cpus: { numa_nodes, siblings: ['0,4', '1,5'], offline: '7' } }),
  ).toBe(
    '7 (NUMA node 0: 0-1,4-5, NUMA node 1: 2-3,6; 2\u00a0physical cores with several threads; offline: 7)',
  );
  const single = { numa_nodes: [{ id: 0, cores: '0-1' }], siblings: [], offline: '' };
  expect(coresText({ cores: 2, cpus: single })).toBe('2');
  expect(coresText({ cores: 2 })).toBe('2');
});

describe('shardCoresText', () => {
  const text = (setting: Partial<CpuPinning>, state: string, uid: string) =>
    shardCoresText(
      {
        cpu_pinning: { ...OFF, ...setting },
        cpu_pinning_state: { state, shards: { 5: { cores: '0-1', numa_nodes: '0' } } },
      } as unknown as Node,
      uid,
    );

  it.each<[Partial<CpuPinning>, string, string, string | undefined]>([
    [{ mode: 'numa' }, 'active', '5', '0-1 (NUMA node 0)'],
    [{ mode: 'numa' }, 'active', '6', undefined],
    [{ mode: 'cores', shards: '0-1' }, 'failed', '6', undefined],
    [{ mode: 'cores', shards: '0-1' }, 'off', '6', undefined],
    [{ mode: 'cores', proxy: '0' }, 'active', '6', 'All cores'],
    [{}, 'off', '6', 'All cores'],
    [{}, 'active', '6', undefined],
  ])('with the setting %o and the state %s, shard %s runs on %s', (setting, state, uid, cores) =>
    expect(text(setting, state, uid)).toBe(cores),
  );

  it('is unknown without the node', () => expect(shardCoresText(undefined, '5')).toBeUndefined());
});
