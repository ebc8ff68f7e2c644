/** All databases with live memory and throughput. */
import { Badge } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { bdbsQuery } from '@/api/bdbs';
import type { Bdb } from '@/api/types';
import { useTopic } from '@/live/LiveProvider';
import { LiveText } from '@/live/LiveText';
import { CopyInline } from '@/ui/Copy';
import { type Column, DataTable } from '@/ui/DataTable';
import { Status } from '@/ui/Status';
import { LiveSpark } from './LiveSpark';
import { MemoryMeter } from './MemoryMeter';
import { bdbState, endpointOf, shardsText } from './status';

const STATUS: Column<Bdb> = {
  id: 'status',
  header: 'Status',
  sort: (bdb) => bdbState(bdb).text,
  cell: (bdb) => {
    const { tone, text, title } = bdbState(bdb);
    return (
      <Status tone={tone} title={title}>
        {text}
      </Status>
    );
  },
};

const NAME: Column<Bdb> = {
  id: 'name',
  header: 'Name',
  sort: (bdb) => bdb.name,
  cell: (bdb) => (
    <Link to="/databases/$uid/metrics" params={{ uid: String(bdb.uid) }}>
      {bdb.name}
    </Link>
  ),
};

const MEMORY: Column<Bdb> = {
  id: 'memory',
  header: 'Memory',
  width: 190,
  sort: (bdb) => bdb.memory_size,
  cell: (bdb) => <MemoryMeter uid={bdb.uid} limit={bdb.memory_size} />,
};

const SHARDS: Column<Bdb> = {
  id: 'shards',
  header: 'Shards',
  sort: (bdb) => bdb.shards_count,
  cell: (bdb) => (
    <span className="num" title="Primaries, and replicas in brackets">
      {shardsText(bdb)}
    </span>
  ),
};

const OPS: Column<Bdb> = {
  id: 'ops',
  header: 'Throughput',
  align: 'right',
  width: 110,
  cell: (bdb) => <LiveText topic="bdbs" uid={bdb.uid} metric="total_req" unit="ops" />,
};

const P99: Column<Bdb> = {
  id: 'p99',
  header: 'P99',
  align: 'right',
  width: 80,
  cell: (bdb) => (
    <LiveText
      topic="bdbs"
      uid={bdb.uid}
      metric="p99_latency"
      unit="latency"
      nothing="No requests in the last seconds"
    />
  ),
};

const RAM_HIT: Column<Bdb> = {
  id: 'ram-hit',
  header: 'RAM hit',
  align: 'right',
  width: 80,
  cell: (bdb) =>
    bdb.bigstore ? (
      <LiveText
        topic="flash"
        uid={bdb.uid}
        metric="ram_hit_ratio"
        unit="ratio"
        nothing="No key was touched in the last seconds"
      />
    ) : (
      <span title="In RAM, all of it">–</span>
    ),
};

const SPARK: Column<Bdb> = {
  id: 'spark',
  header: 'Trend',
  width: 140,
  cell: (bdb) => <LiveSpark uid={bdb.uid} label={`Throughput of ${bdb.name}`} />,
};

const ENDPOINT: Column<Bdb> = {
  id: 'endpoint',
  header: 'Endpoint',
  cell: (bdb) => {
    const endpoint = endpointOf(bdb);
    if (!endpoint) return <span title="Known once the database is created">–</span>;
    return <CopyInline text={`${endpoint.host}:${endpoint.port}`} label="Copy endpoint" />;
  },
};

const FEATURES: Column<Bdb> = {
  id: 'features',
  header: 'Features',
  optional: true,
  cell: (bdb) => (
    <span style={{ display: 'inline-flex', gap: 4 }}>
      {features(bdb).map((feature) => (
        <Badge key={feature} variant="default" tt="none" fw={400} size="sm">
          {feature}
        </Badge>
      ))}
    </span>
  ),
};

const TAGS: Column<Bdb> = {
  id: 'tags',
  header: 'Tags',
  optional: true,
  cell: (bdb) => (bdb.tags ?? []).map(({ key, value }) => `${key}: ${value}`).join(', '),
};

function features(bdb: Bdb): string[] {
  return [
    bdb.bigstore && 'Flash',
    bdb.replication && 'Replication',
    bdb.oss_cluster && 'Cluster API',
    bdb.data_persistence !== 'disabled' && 'Persistence',
  ].filter((name): name is string => typeof name === 'string');
}

const FULL = [STATUS, NAME, ENDPOINT, MEMORY, SHARDS, OPS, P99, RAM_HIT, SPARK, FEATURES, TAGS];
const COMPACT = [STATUS, NAME, MEMORY, SHARDS, OPS, P99, RAM_HIT, SPARK];

interface Props {
  compact?: boolean;
  empty?: ReactNode;
}

export function DatabaseTable({ compact, empty }: Props) {
  const { data } = useQuery(bdbsQuery);
  const navigate = useNavigate();
  const onFlash = data?.some((bdb) => bdb.bigstore);
  const columns = (compact ? COMPACT : FULL).filter((one) => onFlash || one !== RAM_HIT);
  useTopic('flash');
  return (
    <DataTable
      label="Databases"
      columns={columns}
      rows={data}
      rowKey={(bdb) => bdb.uid}
      initialSort={{ id: 'name' }}
      onOpen={(bdb) =>
        navigate({ to: '/databases/$uid/metrics', params: { uid: String(bdb.uid) } })
      }
      empty={empty}
    />
  );
}
