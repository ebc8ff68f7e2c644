/**
 * Dialog that starts a drill: type, duration and effects. Users confirm it by typing the name of
 * the node.
 */
import { Checkbox, NativeSelect, NumberInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { isInZone, nodesQuery } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { isPrimary, useNodeShards } from '@/api/databases/shards';
import { DRILLS, drillOf, SECONDS_MAX, SECONDS_MIN } from '@/api/failures/drillKinds';
import { type DrillKind, startDrill, startZoneDrill } from '@/api/failures/drills';
import type { Shard, ZoneDrillRequest } from '@/api/types';
import { plural } from '@/lib/format';
import { consoleNow } from '@/lib/time';
import { ConfirmationField } from '@/ui/forms/ConfirmByTyping';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';

interface Props {
  node: number;
  onClose: () => void;
  /**
   * Called with the time just before the request, in epoch milliseconds of the console's clock, and with
   * the duration of the drill.
   */
  onStarted: (requestedAt: number, seconds: number) => void;
}

const DEFAULT_SECONDS = 20;
/** Seconds for which the UI shows a drill without a duration. */
const UNTIMED_SECONDS = 5;

const ZONE_KINDS: readonly string[] = [
  'reboot',
  'kill',
  'freeze',
  'cut_off',
] satisfies ZoneDrillRequest['kind'][];

/** Return a text such as "Shards on the node: demo (2 primaries, 2 replicas), cache (1 replica)." */
function affectedShards(
  shards: readonly Shard[] | undefined,
  name: (uid: number) => string,
): string {
  if (!shards) return 'The shards of the node are not loaded yet.';
  if (!shards.length) return 'The node has no shards, so no database is affected.';
  const parts = [...new Set(shards.map(({ bdb_uid }) => bdb_uid))].map((bdb) => {
    const bdbShards = shards.filter(({ bdb_uid }) => bdb_uid === bdb);
    const primaries = bdbShards.filter(isPrimary).length;
    const replicas = bdbShards.length - primaries;
    const counts = [
      ...(primaries ? [plural(primaries, 'primary', 'primaries')] : []),
      ...(replicas ? [plural(replicas, 'replica')] : []),
    ];
    return `${name(bdb)} (${counts.join(', ')})`;
  });
  return `Shards on the node: ${parts.join(', ')}.`;
}

export function DrillDialog({ node, onClose, onStarted }: Props) {
  const loaded = useNodeShards(node).data;
  const shards = loaded ?? [];
  const [kind, setKind] = useState<DrillKind>('reboot');
  const [seconds, setSeconds] = useState<number | string>(DEFAULT_SECONDS);
  const [chosen, setChosen] = useState<string>();
  const [typed, setTyped] = useState('');
  const drill = drillOf(kind);
  const shard = chosen ?? shards[0]?.uid ?? '';
  const duration = drill.timed ? Number(seconds) : UNTIMED_SECONDS;
  const nodes = useQuery(nodesQuery).data ?? [];
  const [isZoneChosen, setZoneChosen] = useState(false);
  const zone = ZONE_KINDS.includes(kind) ? nodes.find(({ uid }) => uid === node)?.rack_id : '';
  const zoneNodes = zone ? nodes.filter((each) => isInZone(each, zone)) : [];
  const ofZone = isZoneChosen && zoneNodes.length > 1;
  const phrase = ofZone ? `zone ${zone}` : `node ${node}`;
  const bdbs = useQuery(shownBdbsQuery).data;
  const name = (uid: number) => bdbs?.find((bdb) => bdb.uid === uid)?.name ?? `database ${uid}`;
  const valid =
    typed === phrase &&
    (!drill.targetsShard || shard !== '') &&
    duration >= SECONDS_MIN &&
    duration <= SECONDS_MAX;

  const start = async () => {
    const requestedAt = consoleNow();
    const target = drill.targetsShard ? { shard_uid: shard } : {};
    if (ofZone && zone) {
      const zoneKind = kind as ZoneDrillRequest['kind'];
      await startZoneDrill(zone, { kind: zoneKind, seconds: duration, confirm: typed });
    } else await startDrill(node, { kind, seconds: duration, confirm: typed, ...target });
    onStarted(requestedAt, duration);
  };

  return (
    <SubmitDialog
      title={`Drill on ${phrase}`}
      action={ofZone ? 'Start drill' : drill.action}
      severe
      disabled={!valid}
      onConfirm={start}
      onClose={onClose}
    >
      <NativeSelect
        label="Drill type"
        value={kind}
        onChange={(event) => setKind(event.currentTarget.value as DrillKind)}
        data={DRILLS.map(({ kind: value, label }) => ({ value, label }))}
      />
      {drill.targetsShard && (
        <NativeSelect
          label="Shard"
          value={shard}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={shards.map(({ uid, role, bdb_uid }) => ({
            value: uid,
            label: `redis:${uid}, ${role === 'master' ? 'primary' : 'replica'} of ${name(bdb_uid)}`,
          }))}
        />
      )}
      {drill.timed && (
        <NumberInput
          label="Duration (seconds)"
          description={`Up to ${SECONDS_MAX} seconds. You can end the drill at any time.`}
          min={SECONDS_MIN}
          max={SECONDS_MAX}
          value={seconds}
          onChange={setSeconds}
        />
      )}
      {zoneNodes.length > 1 && (
        <Checkbox
          label={`All ${zoneNodes.length} nodes of zone ${zone} at once`}
          description={`Nodes ${zoneNodes.map(({ uid }) => uid).join(', ')}. The same happens to all of them at the same time. Databases that are not rack-aware can lose both copies of their data.`}
          checked={isZoneChosen}
          onChange={(event) => setZoneChosen(event.currentTarget.checked)}
        />
      )}
      <span>{drill.effect(node, duration || 0, shard)}</span>
      {!drill.targetsShard && !ofZone && <span>{affectedShards(loaded, name)}</span>}
      <ConfirmationField phrase={phrase} value={typed} onChange={setTyped} />
    </SubmitDialog>
  );
}
