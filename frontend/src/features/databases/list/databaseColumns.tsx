/** Columns of the table of databases. */
import { Link } from '@tanstack/react-router';
import type { Bdb } from '@/api/types';
import { Figure } from '@/live/Figure';
import type { Live } from '@/live/live';
import { CopyInline } from '@/ui/Copy';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import type { Column } from '@/ui/table/DataTable';
import classes from '../databases.module.css';
import { bdbState, endpointOf, shardsText } from '../status';
import { features, tagsText } from './databaseFeatures';
import { FeatureIcons } from './FeatureIcons';
import { LiveSpark } from './LiveSpark';
import { MemoryMeter } from './MemoryMeter';
import type { DatabaseColumn } from './visibleColumns';

const STATUS: DatabaseColumn = {
  id: 'status',
  header: 'Status',
  space: 110,
  priority: 0,
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

const NAME: DatabaseColumn = {
  id: 'name',
  header: 'Name',
  space: 130,
  priority: 0,
  sort: (bdb) => bdb.name,
  cell: (bdb) => (
    <Link to="/databases/$uid/metrics" params={{ uid: String(bdb.uid) }}>
      {bdb.name}
    </Link>
  ),
};

const SHARDS: DatabaseColumn = {
  id: 'shards',
  header: 'Shards',
  space: 80,
  priority: 4,
  sort: (bdb) => bdb.shards_count,
  cell: (bdb) => (
    <span className="num" title="Number of primaries, with replicas in parentheses">
      {shardsText(bdb)}
    </span>
  ),
};

const SPARK: DatabaseColumn = {
  id: 'spark',
  header: 'Trend',
  space: 115,
  priority: 6,
  width: 140,
  cell: (bdb) => <LiveSpark uid={bdb.uid} label={`Throughput of ${bdb.name}`} />,
};

const ENDPOINT: DatabaseColumn = {
  id: 'endpoint',
  header: 'Endpoint',
  space: 175,
  priority: 7,
  sort: (bdb) => endpointOf(bdb)?.port ?? 0,
  cell: (bdb) => {
    const endpoint = endpointOf(bdb);
    if (!endpoint) return <Dash reason="Available when the database is created" />;
    return <CopyInline text={`${endpoint.host}:${endpoint.port}`} label="Copy endpoint" />;
  },
};

const FEATURES: DatabaseColumn = {
  id: 'features',
  header: 'Features',
  space: 130,
  priority: 9,
  isEmpty: (bdbs) => bdbs.every((bdb) => features(bdb).length === 0),
  cell: (bdb) => <FeatureIcons bdb={bdb} />,
};

const TAGS: DatabaseColumn = {
  id: 'tags',
  header: 'Tags',
  space: 180,
  priority: 10,
  isEmpty: (bdbs) => bdbs.every((bdb) => !bdb.tags?.length),
  cell: (bdb) => {
    const text = tagsText(bdb);
    if (!text) return <Dash reason="No tags" />;
    return (
      <span className={classes.tagsText} title={text}>
        {text}
      </span>
    );
  },
};

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
export function columnsOf(source: Live): DatabaseColumn[] {
  return [
    STATUS,
    NAME,
    ENDPOINT,
    {
      id: 'memory',
      space: 175,
      priority: 2,
      header: 'Memory',
      width: 190,
      ...liveSort(source, 'bdbs', 'used_memory'),
      cell: (bdb) => <MemoryMeter uid={bdb.uid} limit={bdb.memory_size} />,
    },
    SHARDS,
    {
      id: 'ops',
      space: 110,
      priority: 3,
      header: 'Throughput',
      align: 'right',
      width: 110,
      ...liveSort(source, 'bdbs', 'total_req'),
      cell: (bdb) => <Figure topic="bdbs" uid={bdb.uid} metric="total_req" unit="ops" />,
    },
    {
      id: 'p99',
      space: 80,
      priority: 5,
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
      space: 80,
      priority: 8,
      isEmpty: (bdbs) => !bdbs.some(({ bigstore }) => bigstore),
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
