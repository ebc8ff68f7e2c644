/** What an event concerns, as links. */
import { Link } from '@tanstack/react-router';
import type { LogEvent } from '@/api/types';
import classes from './events.module.css';

export function EventLinks({ event }: { event: LogEvent }) {
  const { bdb_uid: bdb, node_uid: node, shard_uid: shard } = event;
  const name = typeof event.bdb_name === 'string' ? event.bdb_name : `database ${bdb}`;
  return (
    <span className={classes.links}>
      {bdb !== undefined && (
        <Link to="/databases/$uid/metrics" params={{ uid: String(bdb) }}>
          {name}
        </Link>
      )}
      {node !== undefined && (
        <Link to="/nodes/$uid" params={{ uid: String(node) }}>
          node {node}
        </Link>
      )}
      {shard !== undefined && bdb !== undefined && (
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
