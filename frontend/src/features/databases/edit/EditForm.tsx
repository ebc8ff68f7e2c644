/** Edit form of a database. It is saved with one request that contains only the changed fields. */
import { Button, NativeSelect, NumberInput, Switch } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { bdbsQuery, useUpdateBdb } from '@/api/databases/bdbs';
import { isNameTaken } from '@/api/databases/displayNames';
import type { Bdb } from '@/api/types';
import {
  conflictingFields,
  discardFields,
  editFields,
  emptyEdit,
  keepEditedFields,
} from '@/lib/edits';
import { clearSessionState, readSessionState, useSessionState } from '@/lib/sessionState';
import { Card } from '@/ui/Card';
import { Conflicts } from '@/ui/forms/Conflicts';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { textAtField, useSubmit } from '@/ui/forms/useSubmit';
import { DURABILITY, EVICTION_POLICIES, memoryBytes } from '../create/createDraft';
import classes from '../databases.module.css';
import { MemoryInput } from '../fields/MemoryInput';
import { NameField } from '../fields/NameField';
import { RackAwareness } from '../fields/RackAwareness';
import { RamLimit } from '../fields/RamLimit';
import { TagsInput } from '../fields/TagsInput';
import {
  connectionsError,
  type FieldErrors,
  memoryError,
  NAME_TAKEN,
  nameError,
  ramError,
  SHARDS_MAX,
  shardsError,
  tagsError,
  threadsError,
} from '../fields/validate';
import { ChangePreview, useChangePreview } from './ChangePreview';
import {
  type BdbEdit,
  conflictsOf,
  type Editable,
  editableFields,
  updateRequest,
} from './databaseEdit';
import { EditClients } from './EditClients';
import { MemoryLimitWarning } from './MemoryLimitWarning';
import { UnsavedChangesGuard } from './UnsavedChangesGuard';

/** Fields that show their own errors. */
const FIELDS_WITH_ERRORS = new Set([
  'name',
  'memory_size',
  'bigstore_ram_size',
  'eviction_policy',
  'data_persistence',
  'shards_count',
  'replication',
  'rack_aware',
  'shards_placement',
  'io_threads',
  'proxy_policy',
  'max_connections',
  'maxclients',
  'tls_mode',
  'slave_ha',
  'disabled_commands',
  'tags',
]);

const keyOf = (uid: number): string => `edit.${uid}`;

/** Whether there is unsaved input from an expired session. */
export const hasStoredEdit = (uid: number): boolean => readSessionState(keyOf(uid)) !== undefined;

export function EditForm({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const save = useUpdateBdb(bdb.uid);
  const key = keyOf(bdb.uid);
  const [edit, setEdit] = useSessionState<BdbEdit>(key, emptyEdit());

  const live = editableFields(bdb);
  const draft: Editable = { ...live, ...edit.patch };
  const body = updateRequest(edit, bdb);
  const bdbs = useQuery(bdbsQuery).data ?? [];
  const nameTaken = 'name' in body && isNameTaken(draft.name, bdbs, bdb.uid);
  const [acceptedName, setAcceptedName] = useState<string>();
  const nameAccepted = acceptedName === draft.name;
  const errors: FieldErrors = {
    name: nameError(draft.name) ?? (nameTaken && !nameAccepted ? NAME_TAKEN : undefined),
    memory_size:
      'memory_size' in body
        ? memoryError(memoryBytes(draft.memory), bdb.shards_total || bdb.shards_count)
        : undefined,
    bigstore_ram_size: body.bigstore_ram_size
      ? ramError(body.bigstore_ram_size, bdb.shards_total || bdb.shards_count)
      : undefined,
    shards_count: shardsError({ sharding: bdb.sharding, shards_count: draft.shards_count }),
    io_threads: threadsError(draft.io_threads),
    max_connections: connectionsError(draft.max_connections),
    maxclients:
      draft.maxclients === '' && 'maxclients' in edit.patch
        ? 'Enter at least 1.'
        : connectionsError(draft.maxclients),
    tags: tagsError(draft.tags),
  };
  const invalid = Object.values(errors).some(Boolean);
  const conflicts = conflictsOf(edit, bdb);
  const changed = Object.keys(body).length > 0;
  const preview = useChangePreview(bdb, invalid || conflicts.length ? null : body);
  const close = () => {
    clearSessionState(key);
    onClose();
  };
  const saving = useSubmit(async () => {
    await save(body, nameTaken && nameAccepted);
    close();
  });
  const failure = saving.failure;
  if (failure?.field) errors[failure.field] = textAtField(failure);

  const update = (part: Partial<Editable>) => {
    setEdit((now) => editFields(now, part, live));
    saving.clear();
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!invalid && changed && !conflicts.length) saving.submit();
  };

  return (
    <Card title="Edit" className={classes.editForm}>
      <UnsavedChangesGuard dirty={changed && !saving.busy} />
      <form className={classes.fields} onSubmit={submit} noValidate>
        <NameField
          name={draft.name}
          taken={nameTaken}
          accepted={nameAccepted}
          error={errors.name}
          onChange={(name) => update({ name })}
          onAccept={(accepted) => setAcceptedName(accepted ? draft.name : undefined)}
        />
        <MemoryInput
          description="For the complete database including replicas. Takes effect without a restart."
          memory={draft.memory.memory}
          unit={draft.memory.memory_unit}
          error={errors.memory_size}
          onChange={(part) => update({ memory: { ...draft.memory, ...part } })}
        />
        {bdb.bigstore && (
          <RamLimit
            memory={memoryBytes(draft.memory)}
            percent={draft.ram_percent}
            error={errors.bigstore_ram_size}
            onChange={(ram_percent) => update({ ram_percent })}
          />
        )}
        {body.memory_size && !errors.memory_size && (
          <MemoryLimitWarning bdb={bdb} limit={body.memory_size} />
        )}
        <NativeSelect
          label="Eviction policy"
          description="Keys to evict when memory is full."
          value={draft.eviction_policy}
          error={errors.eviction_policy}
          onChange={(event) =>
            update({ eviction_policy: event.currentTarget.value as Bdb['eviction_policy'] })
          }
          data={[...new Set([...EVICTION_POLICIES, bdb.eviction_policy])]}
        />
        <NativeSelect
          label="Persistence"
          description="Files from which a shard can be restarted. Takes effect without a restart."
          value={draft.durability}
          error={errors.data_persistence}
          onChange={(event) =>
            update({ durability: event.currentTarget.value as Editable['durability'] })
          }
          data={[
            ...(draft.durability === '' ? [{ value: '', label: 'Custom snapshot rules' }] : []),
            ...DURABILITY,
          ]}
        />
        {bdb.sharding && (
          <NumberInput
            label="Number of shards"
            description={`Number of primaries, 1 to ${SHARDS_MAX}. Slots move while the database continues to serve requests.`}
            value={draft.shards_count}
            error={errors.shards_count}
            onChange={(value) => update({ shards_count: value })}
          />
        )}
        <Switch
          label="Replication"
          description="Each primary has a replica on another node that takes over if its node fails."
          checked={draft.replication}
          error={errors.replication}
          onChange={(event) => update({ replication: event.currentTarget.checked })}
        />
        <RackAwareness
          checked={draft.rack_aware}
          replication={draft.replication}
          error={errors.rack_aware}
          onChange={(rack_aware) => update({ rack_aware })}
        />
        <NativeSelect
          label="Shard placement"
          description="Dense: as few nodes as possible. Sparse: as many as possible."
          value={draft.shards_placement}
          error={errors.shards_placement}
          onChange={(event) =>
            update({ shards_placement: event.currentTarget.value as Bdb['shards_placement'] })
          }
          data={[
            { value: 'dense', label: 'Dense' },
            { value: 'sparse', label: 'Sparse' },
          ]}
        />
        <NumberInput
          label="I/O threads per shard"
          description="Threads that read requests and write replies; 1 means off. The maximum is the number of cores of its nodes. If empty, the console chooses."
          placeholder="automatic"
          value={draft.io_threads ?? ''}
          error={errors.io_threads}
          onChange={(value) => update({ io_threads: value })}
        />
        <EditClients bdb={bdb} draft={draft} errors={errors} onChange={update} />
        <TagsInput tags={draft.tags} error={errors.tags} onChange={(tags) => update({ tags })} />
        <Conflicts
          className={classes.wide}
          conflicts={conflicts}
          onDiscard={() => setEdit((now) => discardFields(now, conflictingFields(now, live)))}
          onKeepEdited={() =>
            setEdit((now) => keepEditedFields(now, conflictingFields(now, live), live))
          }
        />
        <ChangePreview bdb={bdb} body={body} preview={preview} />
        {!FIELDS_WITH_ERRORS.has(failure?.field ?? '') && (
          <RequestError failure={failure} className={classes.wide} />
        )}
        <div className={`${classes.buttons} ${classes.wide}`}>
          <SubmitButton
            type="submit"
            loading={saving.busy}
            disabled={invalid || !changed || conflicts.length > 0 || preview.isLoading}
          >
            Save
          </SubmitButton>
          <Button variant="subtle" color="gray" onClick={close}>
            Cancel
          </Button>
        </div>
      </form>
    </Card>
  );
}
