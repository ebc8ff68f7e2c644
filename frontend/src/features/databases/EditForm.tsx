/** Name, memory, eviction, shape and tags, saved together in one request. */
import { Alert, Button, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { bdbsQuery, updateBdb } from '@/api/bdbs';
import { ApiError, messageOf } from '@/api/http';
import type { Bdb, UpdateBdb } from '@/api/types';
import { Card } from '@/ui/Card';
import { ChangePreview, useChangePreview } from './ChangePreview';
import classes from './databases.module.css';
import { EVICTION_POLICIES, memoryBytes, splitMemory } from './draft';
import { MemoryInput } from './MemoryInput';
import { TagsInput } from './TagsInput';
import {
  type FieldErrors,
  memoryError,
  nameError,
  SHARDS_MAX,
  shardsError,
  tagsError,
} from './validate';

/** Fields that show what is wrong with them themselves. */
const SHOWN = new Set([
  'name',
  'memory_size',
  'eviction_policy',
  'shards_count',
  'replication',
  'shards_placement',
  'tags',
]);

export function EditForm({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const client = useQueryClient();
  const [draft, setDraft] = useState(() => ({
    name: bdb.name,
    ...splitMemory(bdb.memory_size),
    eviction_policy: bdb.eviction_policy,
    sharding: bdb.sharding,
    shards_count: bdb.shards_count as number | string,
    replication: bdb.replication,
    shards_placement: bdb.shards_placement,
    tags: bdb.tags ?? [],
  }));
  const [memoryTouched, setMemoryTouched] = useState(false);
  const [refused, setRefused] = useState<{ field?: string | undefined; text: string } | null>(null);
  const [busy, setBusy] = useState(false);

  // An untouched limit is sent back to the byte, not as its rounded picture.
  const bytes = memoryTouched ? memoryBytes(draft) : bdb.memory_size;
  const errors: FieldErrors = {
    name: nameError(draft.name),
    memory_size: memoryTouched
      ? memoryError(bytes, bdb.shards_total || bdb.shards_count)
      : undefined,
    shards_count: shardsError(draft),
    tags: tagsError(draft.tags),
  };
  const invalid = Object.values(errors).some(Boolean);

  const update = (part: Partial<typeof draft>) => {
    setDraft((now) => ({ ...now, ...part }));
    setRefused(null);
  };

  const body: UpdateBdb = {};
  if (draft.name !== bdb.name) body.name = draft.name;
  if (bytes !== bdb.memory_size) body.memory_size = bytes;
  if (draft.eviction_policy !== bdb.eviction_policy) body.eviction_policy = draft.eviction_policy;
  if (draft.shards_count !== bdb.shards_count) body.shards_count = Number(draft.shards_count);
  if (JSON.stringify(draft.tags) !== JSON.stringify(bdb.tags ?? [])) body.tags = draft.tags;
  if (draft.replication !== bdb.replication) body.replication = draft.replication;
  if (draft.shards_placement !== bdb.shards_placement) {
    body.shards_placement = draft.shards_placement;
  }
  const changed = Object.keys(body).length > 0;
  const preview = useChangePreview(bdb, invalid ? null : body);
  if (refused?.field) errors[refused.field] = refused.text;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (invalid || !changed) return;
    setBusy(true);
    try {
      const saved = await updateBdb(bdb.uid, body);
      client.setQueryData(bdbsQuery.queryKey, (list) =>
        list?.map((item) => (item.uid === saved.uid ? saved : item)),
      );
      onClose();
    } catch (error) {
      const field = error instanceof ApiError ? error.field : undefined;
      setRefused({ field, text: messageOf(error) });
      setBusy(false);
    }
  };

  return (
    <Card title="Edit" className={classes.editForm}>
      <form className={classes.fields} onSubmit={submit} noValidate>
        <TextInput
          label="Name"
          description="Letters, digits and hyphens, at most 63."
          value={draft.name}
          error={errors.name}
          onChange={(event) => update({ name: event.currentTarget.value })}
        />
        <MemoryInput
          description="For the whole database, replicas included; takes effect without a restart."
          memory={draft.memory}
          unit={draft.memory_unit}
          error={errors.memory_size}
          onChange={(part) => {
            setMemoryTouched(true);
            update(part);
          }}
        />
        <NativeSelect
          label="Eviction policy"
          description="What goes when memory is full."
          value={draft.eviction_policy}
          error={errors.eviction_policy}
          onChange={(event) =>
            update({ eviction_policy: event.currentTarget.value as Bdb['eviction_policy'] })
          }
          data={[...new Set([...EVICTION_POLICIES, bdb.eviction_policy])]}
        />
        {bdb.sharding && (
          <NumberInput
            label="Number of shards"
            description={`Primaries, 1 to ${SHARDS_MAX}. Slots move while the database goes on serving.`}
            value={draft.shards_count}
            error={errors.shards_count}
            onChange={(value) => update({ shards_count: value })}
          />
        )}
        <Switch
          label="Replication"
          description="A replica of each primary on another node takes over when a node is lost."
          checked={draft.replication}
          error={errors.replication}
          onChange={(event) => update({ replication: event.currentTarget.checked })}
        />
        <NativeSelect
          label="Shards placement"
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
        <TagsInput tags={draft.tags} error={errors.tags} onChange={(tags) => update({ tags })} />
        <ChangePreview bdb={bdb} body={body} preview={preview} />
        {refused && !SHOWN.has(refused.field ?? '') && (
          <Alert color="red" className={classes.wide} role="alert">
            {refused.text}
          </Alert>
        )}
        <div className={`${classes.buttons} ${classes.wide}`}>
          <Button type="submit" loading={busy} disabled={invalid || !changed || preview.asking}>
            Save
          </Button>
          <Button variant="subtle" color="gray" onClick={onClose}>
            Cancel
          </Button>
        </div>
      </form>
    </Card>
  );
}
