/** A fault to be had in the measured part of a run, where drills are allowed. */
import { NativeSelect, NumberInput, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { DRILLS, drillOf, SECONDS_MAX, SECONDS_MIN } from '@/api/drillKinds';
import { useDrillRefusal } from '@/api/drills';
import { nodesQuery } from '@/api/nodes';
import { isPrimary, useBdbShards } from '@/api/shards';
import { Card } from '@/ui/Card';
import classes from './benchmarks.module.css';
import type { RunDraft } from './draft';

/** A node whose agent is killed cannot be told to come back. */
const PLANNABLE = DRILLS.filter(({ kind }) => kind !== 'kill');

interface Props {
  draft: RunDraft;
  change: (part: Partial<RunDraft>) => void;
}

export function DrillFields({ draft, change }: Props) {
  const refusal = useDrillRefusal();
  if (refusal === null) return null;
  return (
    <Card title="Drill">
      {refusal ? (
        <span className={classes.dim}>{refusal}</span>
      ) : (
        <Choice draft={draft} change={change} />
      )}
    </Card>
  );
}

function Choice({ draft, change }: Props) {
  const { data: nodes = [] } = useQuery(nodesQuery);
  const { data: shards = [] } = useBdbShards(draft.bdb ?? 0);
  const drill = draft.drill === '' ? undefined : drillOf(draft.drill);
  const struck = shards.find(({ uid }) => Number(uid) === draft.drillShard?.uid);
  const node = drill?.ofShard ? draft.drillShard?.node : draft.drillNode;
  return (
    <Stack gap="sm">
      <div className={classes.fields}>
        <NativeSelect
          label="What happens"
          value={draft.drill}
          onChange={(event) => change({ drill: event.currentTarget.value as RunDraft['drill'] })}
          data={[
            { value: '', label: 'Nothing' },
            ...PLANNABLE.map(({ kind, label }) => ({ value: kind, label })),
          ]}
        />
        {drill && !drill.ofShard && (
          <NativeSelect
            label="Node"
            value={String(draft.drillNode ?? '')}
            onChange={(event) => change({ drillNode: Number(event.currentTarget.value) || null })}
            data={[
              { value: '', label: 'Choose' },
              ...nodes.map(({ uid }) => ({ value: String(uid), label: `node ${uid}` })),
            ]}
          />
        )}
        {drill?.ofShard && (
          <NativeSelect
            label="Shard"
            value={struck?.uid ?? ''}
            onChange={(event) => {
              const chosen = shards.find(({ uid }) => uid === event.currentTarget.value);
              change({
                drillShard: chosen
                  ? { uid: Number(chosen.uid), node: Number(chosen.node_uid) }
                  : null,
              });
            }}
            data={[
              { value: '', label: 'Choose' },
              ...shards.map((shard) => ({
                value: shard.uid,
                label: `redis:${shard.uid} (${isPrimary(shard) ? 'primary' : 'replica'}, node ${shard.node_uid})`,
              })),
            ]}
          />
        )}
        {drill && (
          <NumberInput
            label="At second"
            description="Of the measured part"
            min={0}
            max={604_800}
            allowDecimal={false}
            value={draft.drillAt}
            onChange={(value) => change({ drillAt: Number(value) || 0 })}
          />
        )}
        {drill?.timed && (
          <NumberInput
            label="For (seconds)"
            description="Until it is undone"
            min={SECONDS_MIN}
            max={SECONDS_MAX}
            value={draft.drillSeconds}
            onChange={(value) => change({ drillSeconds: Number(value) || 0 })}
          />
        )}
      </div>
      {drill && node && (
        <span className={classes.dim}>
          {drill.what(node, draft.drillSeconds, struck?.uid ?? '')}
          {draft.repetitions > 1 && ' It happens in the first repetition only.'}
        </span>
      )}
    </Stack>
  );
}
