/** Comparison of the shards of a database, individually or combined per node. */
import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import type { Shard } from '@/api/types';
import { plural } from '@/lib/format';
import { useTopic } from '@/live/LiveProvider';
import { COLOR } from '@/ui/chart/palette';
import { useEventMarks } from '../marks';
import { Comparison, type View } from './Comparison';
import { type ComparedObject, SHARD_METRICS } from './comparisonMetrics';

interface Props {
  bdbUid: number;
  shards: readonly Shard[];
  by: 'nodes' | 'shards';
  metric: string | undefined;
  view: View;
  onChange: (change: { metric?: string; view?: View }) => void;
}

export function ShardComparison({ bdbUid, shards, by, metric, view, onChange }: Props) {
  const topic = `shards:${bdbUid}`;
  useTopic(topic);
  const marks = useEventMarks({ bdb: bdbUid });
  const [primariesOnly, setPrimariesOnly] = useState(true);
  const listed = primariesOnly ? shards.filter(({ role }) => role === 'master') : shards;
  return (
    <Comparison
      topic={topic}
      groups={by === 'nodes' ? byNode(listed) : listed.map(singleShard)}
      metrics={SHARD_METRICS}
      metric={metric}
      view={view}
      topicSize={shards.length}
      marks={marks}
      onChange={onChange}
      controls={
        <SegmentedControl
          aria-label="Roles"
          value={primariesOnly ? 'primaries' : 'all'}
          onChange={(value) => setPrimariesOnly(value === 'primaries')}
          data={[
            { value: 'primaries', label: 'Primaries' },
            { value: 'all', label: 'All shards' },
          ]}
        />
      }
    />
  );
}

function singleShard({ uid, role, node_uid }: Shard): ComparedObject {
  const isPrimary = role === 'master';
  return {
    key: uid,
    label: `redis:${uid}`,
    note: `${isPrimary ? '' : 'replica, '}node ${node_uid}`,
    uids: [uid],
    color: isPrimary ? COLOR.read : COLOR.other,
  };
}

function byNode(shards: readonly Shard[]): ComparedObject[] {
  const nodes = [...new Set(shards.map(({ node_uid }) => node_uid))];
  return nodes
    .sort((a, b) => Number(a) - Number(b))
    .map((node) => {
      const uids = shards.filter(({ node_uid }) => node_uid === node).map(({ uid }) => uid);
      return {
        key: `node-${node}`,
        label: `node ${node}`,
        note: plural(uids.length, 'shard'),
        uids,
      };
    });
}
