/** Links to the database, node and shard of an event. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import type { LogEvent } from '@/api/types';
import classes from './events.module.css';

export function EventLinks({ event }: { event: LogEvent }) {
  const { bdb_uid: bdb, node_uid: node, shard_uid: shard } = event;
  const database = useQuery(shownBdbsQuery).data?.find(({ uid }) => uid === bdb);
  const deletedName = typeof event.bdb_name === 'string' ? event.bdb_name : `database ${bdb}`;
  return (
    <span className={classes.links}>
      {database && (
        <Link to="/databases/$uid/metrics" params={{ uid: String(bdb) }}>
          {database.name}
        </Link>
      )}
      {!database && bdb !== undefined && <span title="Deleted">{deletedName}</span>}
      {node !== undefined && (
        <Link to="/nodes/$uid" params={{ uid: String(node) }}>
          node {node}
        </Link>
      )}
      {shard !== undefined && database && (
        <Link
          to="/databases/$uid/shards"
          params={{ uid: String(bdb) }}
          search={{ shard: String(shard) }}
        >
          redis:{shard}
        </Link>
      )}
    </span>
  );
}
