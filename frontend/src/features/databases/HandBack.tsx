/** After an outage: primaries that lost their lead with their node get it back, when somebody wants that. */
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

/** Of all databases, or of those. */
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
  const [asking, setAsking] = useState(false);
  const shards = useBdbShards(bdb.uid).data ?? [];
  const lost = shards.filter(({ lost_lead }) => lost_lead);
  // While nodes are down or replicas are filled, there is nothing to order yet.
  if (!lost.length || bdb.status !== 'active' || !shards.every(isWell)) return null;
  const nodes = [...new Set(lost.map(({ node_uid }) => node_uid))];
  const count = plural(lost.length, 'primary', 'primaries');
  return (
    <Alert className={classes.failed} color="blue" title={`${count} of ${bdb.name} can return`}>
      <p className={classes.reason}>
        {nodes.length === 1 ? `Node ${nodes[0]} is` : `Nodes ${nodes.join(' and ')} are`} back and
        in sync. What failed over from there still leads on other nodes.
      </p>
      <Button
        variant="default"
        disabled={!may}
        title={may ? undefined : ROLE_FORBIDS}
        onClick={() => setAsking(true)}
      >
        Hand back…
      </Button>
      {asking && (
        <Ask
          title={`Hand back ${count} of ${bdb.name}?`}
          action="Hand back"
          onConfirm={() => returnPrimaries(bdb.uid)}
          onClose={() => setAsking(false)}
        >
          <ul className={classes.handovers}>
            {lost.map((shard) => (
              <li key={shard.uid} className="num">
                {handover(shard, shards)}
              </li>
            ))}
          </ul>
          <span>
            Roles are switched one after the other; no data moves. Requests to the slots of a shard
            wait for a moment meanwhile.
          </span>
        </Ask>
      )}
    </Alert>
  );
}

const isWell = ({ detailed_status, sync }: Shard): boolean =>
  detailed_status === 'ok' && (sync === undefined || sync.status === 'idle');

function handover(shard: Shard, all: readonly Shard[]): string {
  const head = all.find((each) => each.pair === shard.pair && isPrimary(each));
  const from = head ? `redis:${head.uid} on node ${head.node_uid}` : 'its replica';
  return `${from} → redis:${shard.uid} on node ${shard.node_uid}`;
}
