/** Links to the node, database and shard of an event. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import type { LogEvent } from '@/api/types';
import classes from './Timeline.module.css';

export function EventRefs({ event }: { event: LogEvent }) {
  const { bdb_uid: bdb, node_uid: node, shard_uid: shard } = event;
  const database = useQuery(shownBdbsQuery).data?.find(({ uid }) => uid === bdb);
  return (
    <p className={classes.refs}>
      {node !== undefined && (
        <Link to="/nodes/$uid" params={{ uid: String(node) }}>
          node {node}
        </Link>
      )}
      {database && (
        <Link to="/databases/$uid/metrics" params={{ uid: String(bdb) }}>
          {database.name}
        </Link>
      )}
      {database && shard !== undefined && (
        <Link
          to="/databases/$uid/shards"
          params={{ uid: String(bdb) }}
          search={{ shard: String(shard) }}
        >
          redis:{shard}
        </Link>
      )}
    </p>
  );
}
