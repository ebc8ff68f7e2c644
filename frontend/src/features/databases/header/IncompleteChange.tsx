/** Notice about a change that has not reached all shards: affected settings, reason and a button to try again. */
import { Alert } from '@mantine/core';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { useUpdateBdb } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import classes from '../databases.module.css';

const SETTING_NAMES: Readonly<Record<string, string>> = {
  authentication_redis_pass: 'password',
  aof_policy: 'persistence',
  bigstore_ram_size: 'RAM limit',
  data_persistence: 'persistence',
  disabled_commands: 'disabled commands',
  eviction_policy: 'eviction policy',
  io_threads: 'I/O threads',
  max_connections: 'connections per proxy',
  maxclients: 'connections per shard',
  memory_size: 'memory limit',
  name: 'name',
  snapshot_policy: 'persistence',
  tags: 'tags',
  tls_mode: 'TLS',
};

export function IncompleteChange({ bdb }: { bdb: Bdb }) {
  const update = useUpdateBdb(bdb.uid);
  const may = usePermission('edit');
  const retry = useSubmit(() => update({}));
  const settings = [
    ...new Set(bdb.incomplete_changes.map((field) => SETTING_NAMES[field] ?? field)),
  ];
  return (
    <Alert
      className={classes.failed}
      color="yellow"
      title={`Not all shards of ${bdb.name} have the new settings`}
      role="alert"
    >
      {bdb.status_detail && <p className={classes.reason}>{bdb.status_detail}</p>}
      <p className={classes.reason}>
        Affected settings: {settings.join(', ')}. Shards that were not reached still use the
        previous values. Each later change of the database also tries again.
      </p>
      {retry.failure && <p className={classes.reason}>{retry.failure.text}</p>}
      <SubmitButton
        variant="default"
        loading={retry.busy}
        disabled={!may}
        title={may ? undefined : ROLE_DENIED_TEXT}
        onClick={retry.submit}
      >
        Try again
      </SubmitButton>
    </Alert>
  );
}
