/** Fields for a drill during the measured phase of a run, if drills are allowed. */
import { NativeSelect, NumberInput, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { nodesQuery } from '@/api/cluster/nodes';
import { isPrimary, useBdbShards } from '@/api/databases/shards';
import { DRILLS, drillOf, SECONDS_MAX, SECONDS_MIN } from '@/api/failures/drillKinds';
import { useDrillUnavailableReason } from '@/api/failures/drills';
import { Card } from '@/ui/Card';
import classes from '../benchmarks.module.css';
import type { RunDraft } from './runDraft';

/** Drills for benchmarks. Excludes killing a node, because the console cannot restart a killed agent. */
const PLANNABLE = DRILLS.filter(({ kind }) => kind !== 'kill');

interface Props {
  draft: RunDraft;
  change: (part: Partial<RunDraft>) => void;
}

export function DrillFields({ draft, change }: Props) {
  const unavailableReason = useDrillUnavailableReason();
  if (unavailableReason === null) return null;
  return (
    <Card title="Drill">
      {unavailableReason ? (
        <span className={classes.dim}>{unavailableReason}</span>
      ) : (
        <DrillForm draft={draft} change={change} />
      )}
    </Card>
  );
}

function DrillForm({ draft, change }: Props) {
  const { data: nodes = [] } = useQuery(nodesQuery);
  const { data: shards = [] } = useBdbShards(draft.bdb ?? 0);
  const drill = draft.drill === '' ? undefined : drillOf(draft.drill);
  const target = shards.find(({ uid }) => Number(uid) === draft.drillShard?.uid);
  const node = drill?.targetsShard ? draft.drillShard?.node : draft.drillNode;
  return (
    <Stack gap="sm">
      <div className={classes.fields}>
        <NativeSelect
          label="Drill type"
          value={draft.drill}
          onChange={(event) => change({ drill: event.currentTarget.value as RunDraft['drill'] })}
          data={[
            { value: '', label: 'None' },
            ...PLANNABLE.map(({ kind, label }) => ({ value: kind, label })),
          ]}
        />
        {drill && !drill.targetsShard && (
          <NativeSelect
            label="Node"
            value={String(draft.drillNode ?? '')}
            onChange={(event) => change({ drillNode: Number(event.currentTarget.value) || null })}
            data={[
              { value: '', label: 'Select' },
              ...nodes.map(({ uid }) => ({ value: String(uid), label: `node ${uid}` })),
            ]}
          />
        )}
        {drill?.targetsShard && (
          <NativeSelect
            label="Shard"
            value={target?.uid ?? ''}
            onChange={(event) => {
              const shard = shards.find(({ uid }) => uid === event.currentTarget.value);
              change({
                drillShard: shard ? { uid: Number(shard.uid), node: Number(shard.node_uid) } : null,
              });
            }}
            data={[
              { value: '', label: 'Select' },
              ...shards.map((shard) => ({
                value: shard.uid,
                label: `redis:${shard.uid} (${isPrimary(shard) ? 'primary' : 'replica'}, node ${shard.node_uid})`,
              })),
            ]}
          />
        )}
        {drill && (
          <NumberInput
            label="Start after (seconds)"
            description="After the start of the measured phase"
            min={0}
            max={604_800}
            allowDecimal={false}
            value={draft.drillAt}
            onChange={(value) => change({ drillAt: Number(value) || 0 })}
          />
        )}
        {drill?.timed && (
          <NumberInput
            label="Drill duration (seconds)"
            description={`Up to ${SECONDS_MAX} seconds. The fault ends earlier if the run ends.`}
            min={SECONDS_MIN}
            max={SECONDS_MAX}
            value={draft.drillSeconds}
            onChange={(value) => change({ drillSeconds: Number(value) || 0 })}
          />
        )}
      </div>
      {drill && node && (
        <span className={classes.dim}>
          {drill.effect(node, draft.drillSeconds, target?.uid ?? '')}
          {draft.repetitions > 1 && ' The drill runs in the first repetition only.'}
        </span>
      )}
    </Stack>
  );
}
