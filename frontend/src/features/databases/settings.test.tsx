// @dom
import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import { Facts } from '@/ui/Facts';
import { settingGroups, withoutSecrets } from './settings';

/** As a live change brings it: without the password itself. */
const bdb = (part: Partial<Bdb> = {}) =>
  ({
    uid: 1,
    name: 'demo',
    memory_size: 1 << 30,
    shards_count: 3,
    shards_placement: 'dense',
    proxy_policy: 'single',
    data_persistence: 'disabled',
    authentication: true,
    authentication_redis_pass: '',
    max_connections: 0,
    maxclients: 10_000,
    ...part,
  }) as Bdb;

function shown(object: Bdb): string {
  const groups = settingGroups(object).map(({ title, facts }) => (
    <Facts key={title} items={facts} />
  ));
  const { container } = render(<MantineProvider>{groups}</MantineProvider>);
  return container.textContent ?? '';
}

describe('settings of a database', () => {
  it('never calls a protected database open', () => {
    shown(bdb());
    expect(screen.queryByText(/open to whoever/)).toBeNull();
    expect(withoutSecrets(bdb()).authentication_redis_pass).toBe('•••');
    expect(shown(bdb({ authentication: false }))).toContain('None: open to whoever');
  });

  it('tells which commands nobody may use', () => {
    expect(shown(bdb())).toContain('Disabled commandsNone');
    expect(shown(bdb({ disabled_commands: 'FLUSHALL' }))).toContain('Disabled commandsFLUSHALL');
  });

  it('says whether shards speak in clear with each other', () => {
    expect(shown(bdb({ data_internode_encryption: true }))).toContain('Between nodesEncrypted');
    expect(shown(bdb({ data_internode_encryption: false }))).toContain('In clear: whoever');
  });

  it('calls one thread what it is: none beside the main thread', () => {
    expect(shown(bdb({ io_threads: 1 }))).toContain('I/O threads per shardOff');
    expect(shown(bdb({ io_threads: 4 }))).toContain('I/O threads per shard4');
  });

  it('tells the limit that holds: that of the proxies, and that of each shard', () => {
    expect(shown(bdb())).toMatch(/per proxyNo limit of its own.*per shard10,000/);
    expect(shown(bdb({ max_connections: 500 }))).toContain('per proxy500');
  });
});
