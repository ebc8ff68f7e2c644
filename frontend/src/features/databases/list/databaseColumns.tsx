/** Columns of the table of databases. */
import { Badge } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Bdb } from '@/api/types';
import { Figure } from '@/live/Figure';
import type { Live } from '@/live/live';
import { CopyInline } from '@/ui/Copy';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import type { Column } from '@/ui/table/DataTable';
import { bdbState, endpointOf, shardsText } from '../status';
import { LiveSpark } from './LiveSpark';
import { MemoryMeter } from './MemoryMeter';

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

const SHARDS: Column<Bdb> = {
  id: 'shards',
  header: 'Shards',
  sort: (bdb) => bdb.shards_count,
  cell: (bdb) => (
    <span className="num" title="Number of primaries, with replicas in parentheses">
      {shardsText(bdb)}
    </span>
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
  sort: (bdb) => endpointOf(bdb)?.port ?? 0,
  cell: (bdb) => {
    const endpoint = endpointOf(bdb);
    if (!endpoint) return <Dash reason="Available when the database is created" />;
    return <CopyInline text={`${endpoint.host}:${endpoint.port}`} label="Copy endpoint" />;
  },
};

const FEATURES: Column<Bdb> = {
  id: 'features',
  header: 'Features',
  optional: true,
  cell: (bdb) => (
    <span style={{ display: 'inline-flex', gap: 4 }} title={features(bdb).join(', ')}>
      {features(bdb).map((feature) => (
        <Badge key={feature} variant="default" tt="none" fw={400} size="sm" flex="none">
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
  cell: (bdb) => tagsText(bdb),
};

export const tagsText = ({ tags }: Bdb): string =>
  (tags ?? []).map(({ key, value }) => `${key}: ${value}`).join(', ');

export function features(bdb: Bdb): string[] {
  return [
    bdb.bigstore && 'Flash',
    bdb.replication && 'Replication',
    bdb.oss_cluster && 'Cluster API',
    bdb.data_persistence !== 'disabled' && 'Persistence',
    bdb.tls_mode === 'enabled' && 'TLS',
  ].filter((name): name is string => typeof name === 'string');
}

/** Sort by the live values at the time of the click. If rows moved every second, the table would be unreadable. */
function liveSort(
  live: Live,
  topic: string,
  metric: string,
): Pick<Column<Bdb>, 'sort' | 'descendingFirst'> {
  return {
    descendingFirst: true,
    sort: ({ uid }) => live.ring(topic).latest(String(uid), metric, live.edge()),
  };
}

/** Return all columns, in the order of the Databases page. */
export function columnsOf(source: Live): Column<Bdb>[] {
  return [
    STATUS,
    NAME,
    ENDPOINT,
    {
      id: 'memory',
      header: 'Memory',
      width: 190,
      ...liveSort(source, 'bdbs', 'used_memory'),
      cell: (bdb) => <MemoryMeter uid={bdb.uid} limit={bdb.memory_size} />,
    },
    SHARDS,
    {
      id: 'ops',
      header: 'Throughput',
      align: 'right',
      width: 110,
      ...liveSort(source, 'bdbs', 'total_req'),
      cell: (bdb) => <Figure topic="bdbs" uid={bdb.uid} metric="total_req" unit="ops" />,
    },
    {
      id: 'p99',
      header: 'P99',
      align: 'right',
      width: 80,
      ...liveSort(source, 'bdbs', 'p99_latency'),
      cell: (bdb) => (
        <Figure
          topic="bdbs"
          uid={bdb.uid}
          metric="p99_latency"
          unit="latency"
          emptyReason="No requests in the last few seconds"
        />
      ),
    },
    {
      id: 'ram-hit',
      header: 'RAM hit',
      align: 'right',
      width: 80,
      ...liveSort(source, 'flash', 'ram_hit_ratio'),
      cell: (bdb) =>
        bdb.bigstore ? (
          <Figure
            topic="flash"
            uid={bdb.uid}
            metric="ram_hit_ratio"
            unit="ratio"
            emptyReason="No key was accessed in the last few seconds"
          />
        ) : (
          <Dash reason="The database is in RAM only" />
        ),
    },
    SPARK,
    FEATURES,
    TAGS,
  ];
}
