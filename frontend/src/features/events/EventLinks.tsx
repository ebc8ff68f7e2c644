/** What an event concerns, as links. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bdbsQuery } from '@/api/bdbs';
import type { LogEvent } from '@/api/types';
import classes from './events.module.css';

export function EventLinks({ event }: { event: LogEvent }) {
  const { bdb_uid: bdb, node_uid: node, shard_uid: shard } = event;
  const known = useQuery(bdbsQuery).data?.find(({ uid }) => uid === bdb);
  const told = typeof event.bdb_name === 'string' ? event.bdb_name : `database ${bdb}`;
  return (
    <span className={classes.links}>
      {known && (
        <Link to="/databases/$uid/metrics" params={{ uid: String(bdb) }}>
          {known.name}
        </Link>
      )}
      {!known && bdb !== undefined && <span title="Deleted since">{told}</span>}
      {node !== undefined && (
        <Link to="/nodes/$uid" params={{ uid: String(node) }}>
          node {node}
        </Link>
      )}
      {shard !== undefined && known && (
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
