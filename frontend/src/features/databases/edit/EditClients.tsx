/** Fields of the edit form for client access: proxies, connection limits, TLS and disabled commands; also replica HA. */
import { NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { PROXY_POLICIES } from '@/api/databases/endpoints';
import type { Bdb } from '@/api/types';
import type { FieldErrors } from '../fields/validate';
import type { Editable } from './databaseEdit';

interface Props {
  bdb: Bdb;
  draft: Editable;
  errors: FieldErrors;
  onChange: (part: Partial<Editable>) => void;
}

export function EditClients({ bdb, draft, errors, onChange }: Props) {
  // Clients that use the cluster protocol must be able to reach every shard.
  const policies = PROXY_POLICIES.filter(({ value }) => !(bdb.oss_cluster && value === 'single'));
  return (
    <>
      <NativeSelect
        label="Database proxy"
        description="Nodes that serve the endpoint. This determines the addresses for clients."
        value={draft.proxy_policy}
        error={errors.proxy_policy}
        onChange={(event) =>
          onChange({ proxy_policy: event.currentTarget.value as Editable['proxy_policy'] })
        }
        data={policies.map(({ value, label }) => ({ value, label }))}
      />
      <NumberInput
        label="Connections per proxy"
        description="Maximum number of client connections to this database. If empty, the limit is 10,000."
        placeholder="10,000"
        value={draft.max_connections}
        error={errors.max_connections}
        onChange={(max_connections) => onChange({ max_connections })}
      />
      <NumberInput
        label="Connections per shard"
        description="Maximum number of connections from proxies and replicas to each shard."
        value={draft.maxclients}
        error={errors.maxclients}
        onChange={(maxclients) => onChange({ maxclients })}
      />
      <Switch
        label="TLS"
        description="The endpoint accepts only TLS connections."
        checked={draft.tls_mode === 'enabled'}
        error={errors.tls_mode}
        onChange={(event) =>
          onChange({ tls_mode: event.currentTarget.checked ? 'enabled' : 'disabled' })
        }
      />
      <TextInput
        label="Disabled commands"
        description="Commands that the database rejects for all users and scripts, even if a role allows them. Example: FLUSHALL, KEYS."
        placeholder="none"
        value={draft.disabled_commands}
        error={errors.disabled_commands}
        onChange={(event) => onChange({ disabled_commands: event.currentTarget.value })}
      />
      <Switch
        label="Replica HA"
        description="Rebuilds lost replicas on other nodes if a node remains unavailable."
        checked={draft.slave_ha}
        error={errors.slave_ha}
        onChange={(event) => onChange({ slave_ha: event.currentTarget.checked })}
      />
    </>
  );
}
