// @dom
import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import { Facts } from '@/ui/Facts';
import { maskSecrets, settingGroups } from './settingGroups';

/** A database as in live changes, which do not contain the password. */
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

function displayed(object: Bdb): string {
  const groups = settingGroups(object).map(({ title, facts }) => (
    <Facts key={title} items={facts} />
  ));
  const { container } = render(<MantineProvider>{groups}</MantineProvider>);
  return container.textContent ?? '';
}

describe('settings of a database', () => {
  it('does not show a database with a password as open', () => {
    displayed(bdb());
    expect(screen.queryByText(/anyone who can reach the port can/)).toBeNull();
    expect(maskSecrets(bdb()).authentication_redis_pass).toBe('•••');
    expect(displayed(bdb({ authentication: false }))).toContain(
      'None: anyone who can reach the port',
    );
  });

  it('shows the disabled commands', () => {
    expect(displayed(bdb())).toContain('Disabled commandsNone');
    expect(displayed(bdb({ disabled_commands: 'FLUSHALL' }))).toContain(
      'Disabled commandsFLUSHALL',
    );
  });

  it('shows whether traffic between nodes is encrypted', () => {
    expect(displayed(bdb({ data_internode_encryption: true }))).toContain(
      'Encryption between nodesEncrypted',
    );
    expect(displayed(bdb({ data_internode_encryption: false }))).toContain('Unencrypted: anyone');
  });

  it('shows a single I/O thread as off', () => {
    expect(displayed(bdb({ io_threads: 1 }))).toContain('I/O threads per shardOff');
    expect(displayed(bdb({ io_threads: 4 }))).toContain('I/O threads per shard4');
  });

  it('shows the connection limits of proxies and shards', () => {
    expect(displayed(bdb())).toMatch(/per proxy10,000 .default..*per shard10,000/);
    expect(displayed(bdb({ max_connections: 500 }))).toContain('per proxy500');
  });
});
