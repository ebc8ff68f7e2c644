/** Notice after an outage: shards that lost the primary role can be switched back on request. */
import { Button } from '@mantine/core';
import { IconArrowBackUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { shownBdbsQuery, switchBackPrimaries } from '@/api/databases/bdbs';
import { isPrimary, shardsQuery, useBdbShards } from '@/api/databases/shards';
import type { Bdb, Shard } from '@/api/types';
import { plural } from '@/lib/format';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { Strip } from '@/ui/Strip';
import classes from '../databases.module.css';

/** Notices of all databases, or of the databases with the uids `bdbUids`. */
export function SwitchBackNotices({ bdbUids }: { bdbUids?: readonly number[] }) {
  const bdbs = useQuery(shownBdbsQuery).data ?? [];
  const shards = useQuery(shardsQuery).data ?? [];
  const waiting = new Set(shards.flatMap(({ bdb_uid, lost_lead }) => (lost_lead ? bdb_uid : [])));
  return bdbs
    .filter(({ uid }) => waiting.has(uid) && (bdbUids === undefined || bdbUids.includes(uid)))
    .map((bdb) => <SwitchBackNotice key={bdb.uid} bdb={bdb} />);
}

export function SwitchBackNotice({ bdb }: { bdb: Bdb }) {
  const may = usePermission('edit');
  const [open, setOpen] = useState(false);
  const shards = useBdbShards(bdb.uid).data ?? [];
  const lost = shards.filter(({ lost_lead }) => lost_lead);
  // Not possible while nodes are down or replicas are being resynced.
  if (!lost.length || bdb.status !== 'active' || !shards.every(isHealthy)) return null;
  const nodes = [...new Set(lost.map(({ node_uid }) => node_uid))];
  const count = plural(lost.length, 'primary', 'primaries');
  return (
    <>
      <Strip
        icon={<IconArrowBackUp size={16} color="var(--accent)" aria-hidden />}
        action={
          <Button
            variant="default"
            size="compact-sm"
            disabled={!may}
            title={may ? undefined : ROLE_DENIED_TEXT}
            onClick={() => setOpen(true)}
          >
            Switch back…
          </Button>
        }
      >
        {count} of {bdb.name} can be switched back to{' '}
        {nodes.length === 1 ? `node ${nodes[0]}` : `nodes ${nodes.join(' and ')}`}
      </Strip>
      {open && (
        <SubmitDialog
          title={`Switch back ${count} of ${bdb.name}?`}
          action="Switch back"
          onConfirm={() => switchBackPrimaries(bdb.uid)}
          onClose={() => setOpen(false)}
        >
          <ul className={classes.switchovers}>
            {lost.map((shard) => (
              <li key={shard.uid} className="num">
                {switchover(shard, shards)}
              </li>
            ))}
          </ul>
          <span>
            Roles are switched one after another, and no data moves. Requests to the slots of a
            shard pause briefly.
          </span>
        </SubmitDialog>
      )}
    </>
  );
}

const isHealthy = ({ detailed_status, sync }: Shard): boolean =>
  detailed_status === 'ok' && (sync === undefined || sync.status === 'idle');

function switchover(shard: Shard, all: readonly Shard[]): string {
  const primary = all.find((other) => other.pair === shard.pair && isPrimary(other));
  const from = primary ? `redis:${primary.uid} on node ${primary.node_uid}` : 'its replica';
  return `${from} → redis:${shard.uid} on node ${shard.node_uid}`;
}
