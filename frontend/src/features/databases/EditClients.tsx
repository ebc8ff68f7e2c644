/** How clients get to a database: which proxies serve it, encrypted or not, and how many at a time. */
import { NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { PROXY_POLICIES } from '@/api/endpoints';
import type { Bdb } from '@/api/types';
import type { Editable } from './edit';
import type { FieldErrors } from './validate';

interface Props {
  bdb: Bdb;
  draft: Editable;
  errors: FieldErrors;
  onChange: (part: Partial<Editable>) => void;
}

export function EditClients({ bdb, draft, errors, onChange }: Props) {
  // Clients that speak the cluster protocol must reach every shard.
  const policies = PROXY_POLICIES.filter(({ value }) => !(bdb.oss_cluster && value === 'single'));
  return (
    <>
      <NativeSelect
        label="Database proxy"
        description="Which nodes serve the endpoint, and so the addresses of clients."
        value={draft.proxy_policy}
        error={errors.proxy_policy}
        onChange={(event) =>
          onChange({ proxy_policy: event.currentTarget.value as Editable['proxy_policy'] })
        }
        data={policies.map(({ value, label }) => ({ value, label }))}
      />
      <NumberInput
        label="Connections per proxy"
        description="Of clients to this database. Empty: no limit of its own."
        placeholder="no limit of its own"
        value={draft.max_connections}
        error={errors.max_connections}
        onChange={(max_connections) => onChange({ max_connections })}
      />
      <NumberInput
        label="Connections per shard"
        description="Of proxies and replicas to each shard."
        value={draft.maxclients}
        error={errors.maxclients}
        onChange={(maxclients) => onChange({ maxclients })}
      />
      <Switch
        label="TLS"
        description="The endpoint serves encrypted connections only."
        checked={draft.tls_mode === 'enabled'}
        error={errors.tls_mode}
        onChange={(event) =>
          onChange({ tls_mode: event.currentTarget.checked ? 'enabled' : 'disabled' })
        }
      />
      <TextInput
        label="Disabled commands"
        description="Nobody may use them here, nor by scripts, whatever a role allows. For example FLUSHALL, KEYS."
        placeholder="none"
        value={draft.disabled_commands}
        error={errors.disabled_commands}
        onChange={(event) => onChange({ disabled_commands: event.currentTarget.value })}
      />
      <Switch
        label="Replica HA"
        description="Replicas are rebuilt on other nodes when a node stays away."
        checked={draft.slave_ha}
        error={errors.slave_ha}
        onChange={(event) => onChange({ slave_ha: event.currentTarget.checked })}
      />
    </>
  );
}
