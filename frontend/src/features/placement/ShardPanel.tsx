/** Drawer with the details of one shard. The page adds its charts as children. */
import { Drawer } from '@mantine/core';
import type { ReactNode } from 'react';
import { shardCoresText, useNode } from '@/api/cluster/nodes';
import { isShardDown, isShardStarting } from '@/api/databases/shards';
import type { Shard } from '@/api/types';
import { countSlots, formatSlots, parseSlots } from '@/lib/slots';
import { duration } from '@/lib/time';
import { Figure } from '@/live/Figure';
import { useTopic } from '@/live/LiveProvider';
import { Ago, useNow } from '@/ui/Ago';
import { Dash } from '@/ui/Dash';
import { Facts } from '@/ui/Facts';
import { Status, type Tone } from '@/ui/Status';
import { FailOver } from './FailOver';
import { MoveShard } from './MoveShard';
import classes from './Placement.module.css';
import { RestartShard } from './RestartShard';
import { ShardDiagnostics } from './ShardDiagnostics';

interface Props {
  shard: Shard;
  /** Whether its database keeps values on flash. */
  onFlash: boolean;
  /** Replicas that can be promoted in its place. */
  replicas: readonly Shard[];
  /** Whether no other shard has its data. */
  isOnlyCopy: boolean;
  onClose: () => void;
  children: ReactNode;
}

export function ShardPanel({ shard, onFlash, replicas, isOnlyCopy, onClose, children }: Props) {
  const topic = `shards:${shard.bdb_uid}`;
  const flashTopic = `flash_shards:${shard.bdb_uid}`;
  useTopic(onFlash ? flashTopic : topic);
  const { data: node } = useNode(Number(shard.node_uid));
  const [tone, text] = stateOf(shard);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size={480}
      title={`redis:${shard.uid}`}
      overlayProps={{ backgroundOpacity: 0.1 }}
      transitionProps={{ duration: 120 }}
    >
      <div className={classes.panel}>
        <Facts
          items={[
            [
              'State',
              <Status key="state" tone={tone}>
                {text}
              </Status>,
            ],
            ['Role', shard.role === 'master' ? 'Primary' : 'Replica'],
            ['Node', `${shard.node_uid}${shard.address ? ` (${shard.address})` : ''}`],
            ['Port', shard.port],
            [
              'Cores',
              shardCoresText(node, shard.uid) ?? (
                <Dash key="cores" reason="The agent has not reported the cores of this shard" />
              ),
            ],
            ['Slots', slotsText(shard)],
            ...syncFacts(shard),
            ['Process ID', shard.pid],
            [
              'Running for',
              <Uptime key="up" since={isShardDown(shard) ? undefined : shard.started_at} />,
            ],
            [
              'Keys',
              <Figure key="keys" topic={topic} uid={shard.uid} metric="no_of_keys" unit="count" />,
            ],
            [
              'Resident memory',
              <Figure
                key="rss"
                topic={topic}
                uid={shard.uid}
                metric="used_memory_rss"
                unit="bytes"
              />,
            ],
            [
              'Responsiveness',
              <Figure key="ping" topic={topic} uid={shard.uid} metric="responsiveness" unit="ms" />,
            ],
            ...(onFlash ? flashFacts(flashTopic, shard.uid) : []),
            ['State last changed', <Ago key="seen" time={shard.report_timestamp} />],
          ]}
        />
        <div className={classes.operations}>
          {shard.role === 'master' && replicas[0] && (
            <FailOver primary={shard} replica={replicas[0]} />
          )}
          <MoveShard shard={shard} />
          {isOnlyCopy && isShardDown(shard) && <RestartShard shard={shard.uid} />}
        </div>
        <ShardDiagnostics shard={shard.uid} />
        {children}
      </div>
    </Drawer>
  );
}

const FLASH_FACTS = [
  ['RAM hit ratio', 'ram_hit_ratio', 'ratio', 'No key was accessed in the last second'],
  ['Values in RAM', 'bigstore_objs_ram', 'count', undefined],
  ['Values on flash', 'bigstore_objs_flash', 'count', undefined],
  ['Used flash', 'used_bigstore', 'bytes', undefined],
] as const;

const flashFacts = (topic: string, uid: string): [string, ReactNode][] =>
  FLASH_FACTS.map(([label, metric, unit, emptyReason]) => [
    label,
    <Figure
      key={metric}
      topic={topic}
      uid={uid}
      metric={metric}
      unit={unit}
      emptyReason={emptyReason}
    />,
  ]);

function slotsText(shard: Shard): string {
  const ranges = parseSlots(shard.assigned_slots);
  return `${formatSlots(ranges)} (${countSlots(ranges).toLocaleString('en-US')})`;
}

function stateOf(shard: Shard): readonly [Tone, string] {
  if (isShardStarting(shard)) return ['progress', 'Starting'];
  if (isShardDown(shard)) {
    return ['broken', shard.detail ? `Down: ${shard.detail}` : 'Down'];
  }
  if (shard.detailed_status === 'ok') return ['ok', 'OK'];
  if (shard.detailed_status === 'loading') return ['progress', 'Loading data'];
  if (shard.detailed_status === 'busy') return ['broken', shard.detail];
  return ['unknown', shard.detail || 'Unknown'];
}

function syncFacts(shard: Shard): [string, string][] {
  if (shard.role !== 'slave') return [];
  const texts: Record<string, string> = {
    idle: 'In sync with its primary',
    in_progress: 'Copying from its primary',
    link_down: 'Link to its primary is down',
  };
  const status = shard.sync?.status ?? '';
  return [['Replication', texts[status] ?? '']];
}

function Uptime({ since }: { since: string | undefined }) {
  const now = useNow();
  const start = Date.parse(since ?? '');
  return Number.isNaN(start) ? (
    <Dash reason="The process is not running or has not been reported yet" />
  ) : (
    duration((now - start) / 1000)
  );
}
