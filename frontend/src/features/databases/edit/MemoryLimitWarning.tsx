/** Warning about the effect of a memory limit below the memory that is used now. */
import { Alert } from '@mantine/core';
import type { Bdb } from '@/api/types';
import { format } from '@/lib/format';
import { useLive } from '@/live/LiveProvider';
import classes from '../databases.module.css';

export function MemoryLimitWarning({ bdb, limit }: { bdb: Bdb; limit: number }) {
  const live = useLive();
  const used = live.ring('bdbs').latest(String(bdb.uid), 'used_memory', live.edge());
  if (Number.isNaN(used) || used <= limit) return null;
  const effect =
    bdb.eviction_policy === 'noeviction'
      ? 'writes are rejected until it uses less'
      : 'keys are evicted; if no key can be evicted, writes are rejected';
  return (
    <Alert className={classes.wide} color="yellow" role="status">
      The database uses {format('bytes', used)} now. With this limit, {effect}.
    </Alert>
  );
}
