/** A limit below what is used now takes effect at once: it says what then happens. */
import { Alert } from '@mantine/core';
import type { Bdb } from '@/api/types';
import { format } from '@/lib/format';
import { useLive } from '@/live/LiveProvider';
import classes from './databases.module.css';

export function BelowUse({ bdb, limit }: { bdb: Bdb; limit: number }) {
  const live = useLive();
  const used = live.ring('bdbs').latest(String(bdb.uid), 'used_memory', live.edge());
  if (Number.isNaN(used) || used <= limit) return null;
  const then =
    bdb.eviction_policy === 'noeviction'
      ? 'writes are refused until there is less'
      : 'keys are evicted, and where none may be, writes are refused';
  return (
    <Alert className={classes.wide} color="yellow" role="status">
      {format('bytes', used)} are used now: with a lower limit {then}.
    </Alert>
  );
}
