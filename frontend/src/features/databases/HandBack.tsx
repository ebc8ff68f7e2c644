/** Notice after an outage: shards that lost the primary role can be switched back on request. */
import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { bdbsQuery, returnPrimaries } from '@/api/bdbs';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import { isPrimary, shardsQuery, useBdbShards } from '@/api/shards';
import type { Bdb, Shard } from '@/api/types';
import { plural } from '@/lib/format';
import { Ask } from '@/ui/Ask';
import classes from './databases.module.css';

/** Notices of all databases, or of the databases with the uids `of`. */
export function HandBacks({ of }: { of?: readonly number[] }) {
  const bdbs = useQuery(bdbsQuery).data ?? [];
  const shards = useQuery(shardsQuery).data ?? [];
  const waiting = new Set(shards.flatMap(({ bdb_uid, lost_lead }) => (lost_lead ? bdb_uid : [])));
  return bdbs
    .filter(({ uid }) => waiting.has(uid) && (of === undefined || of.includes(uid)))
    .map((bdb) => <HandBack key={bdb.uid} bdb={bdb} />);
}

export function HandBack({ bdb }: { bdb: Bdb }) {
  const may = useMay('edit');
  const [open, setOpen] = useState(false);
  const shards = useBdbShards(bdb.uid).data ?? [];
  const lost = shards.filter(({ lost_lead }) => lost_lead);
  // Not possible while nodes are down or replicas are being resynced.
  if (!lost.length || bdb.status !== 'active' || !shards.every(isHealthy)) return null;
  const nodes = [...new Set(lost.map(({ node_uid }) => node_uid))];
  const count = plural(lost.length, 'primary', 'primaries');
  return (
    <Alert
      className={classes.failed}
      color="blue"
      title={`${count} of ${bdb.name} can be switched back`}
    >
      <p className={classes.reason}>
        {nodes.length === 1 ? `Node ${nodes[0]} is` : `Nodes ${nodes.join(' and ')} are`} available
        and in sync again. The primaries that failed over are still on other nodes.
      </p>
      <Button
        variant="default"
        disabled={!may}
        title={may ? undefined : ROLE_FORBIDS}
        onClick={() => setOpen(true)}
      >
        Switch back…
      </Button>
      {open && (
        <Ask
          title={`Switch back ${count} of ${bdb.name}?`}
          action="Switch back"
          onConfirm={() => returnPrimaries(bdb.uid)}
          onClose={() => setOpen(false)}
        >
          <ul className={classes.handovers}>
            {lost.map((shard) => (
              <li key={shard.uid} className="num">
                {switchover(shard, shards)}
              </li>
            ))}
          </ul>
          <span>
            Roles are switched one after the other, and no data moves. Requests to the slots of a
            shard pause briefly.
          </span>
        </Ask>
      )}
    </Alert>
  );
}

const isHealthy = ({ detailed_status, sync }: Shard): boolean =>
  detailed_status === 'ok' && (sync === undefined || sync.status === 'idle');

function switchover(shard: Shard, all: readonly Shard[]): string {
  const primary = all.find((other) => other.pair === shard.pair && isPrimary(other));
  const from = primary ? `redis:${primary.uid} on node ${primary.node_uid}` : 'its replica';
  return `${from} → redis:${shard.uid} on node ${shard.node_uid}`;
}
