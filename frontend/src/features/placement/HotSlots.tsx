/** Table of the hash slots with the highest load, to explain why one shard is busier than others. */
import { Alert, Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import { hotSlotsQuery, type SlotMetric } from '@/api/metrics/hotSlots';
import type { Bdb, HotSlot, HotSlots as Snapshot } from '@/api/types';
import { format, formatExact, plural, type Unit } from '@/lib/format';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './Placement.module.css';

const METRICS: readonly { value: SlotMetric; label: string }[] = [
  { value: 'cpu_usec', label: 'CPU time' },
  { value: 'network_bytes_in', label: 'Bytes in' },
  { value: 'network_bytes_out', label: 'Bytes out' },
  { value: 'key_count', label: 'Keys' },
];

/** A counter with a total, which is known even if its rate is not. */
type Counter = keyof HotSlot['total'];

export function HotSlots({ bdb }: { bdb: Bdb }) {
  const [by, rankBy] = useState<SlotMetric>('cpu_usec');
  const { data, error, isFetching, refetch } = useQuery(hotSlotsQuery(bdb.uid, by));
  return (
    <Card
      title="Hot slots"
      className={classes.hotSlots}
      flush
      headerEnd={
        <div className={classes.bar}>
          <label className={classes.choice} htmlFor="hot-slots-by">
            Rank by
            <NativeSelect
              id="hot-slots-by"
              size="xs"
              value={by}
              onChange={(event) => rankBy(event.currentTarget.value as SlotMetric)}
              data={[...METRICS]}
            />
          </label>
          <Button
            size="compact-xs"
            variant="default"
            disabled={isFetching}
            onClick={() => refetch()}
          >
            Refresh
          </Button>
        </div>
      }
    >
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)} {data ? 'The table shows older data.' : ''}
        </Alert>
      )}
      {data?.slots.length ? <Explanation snapshot={data} /> : null}
      {(data || !error) && (
        <DataTable
          key={by}
          label="Hot slots"
          columns={COLUMNS(bdb)}
          rows={data?.slots}
          rowKey={({ slot }) => slot}
          empty={<NoSlots snapshot={data} />}
        />
      )}
    </Card>
  );
}

/** Time range of the numbers, and the shards that are missing. */
function Explanation({ snapshot }: { snapshot: Snapshot }) {
  return (
    <p className={classes.slotsNote}>
      {snapshot.detail && <strong>{snapshot.detail} </strong>}
      {snapshot.interval === undefined
        ? 'Ranked by totals since each shard started. Rates are available after the next query.'
        : `Rates over the last ${format('plain', snapshot.interval)} s. Hover over a number to see the total since the shard started.`}{' '}
      Keys with the same hash tag (the part in {'{braces}'}) share a slot, so a hot slot is caused
      by one key or one hash tag that is used often. Adding shards does not reduce its load.
    </p>
  );
}

function NoSlots({ snapshot }: { snapshot: Snapshot | undefined }) {
  if (snapshot?.detail) {
    return (
      <EmptyState title="Not available">
        <span>{snapshot.detail}</span>
        {snapshot.by !== 'key_count' && snapshot.shards.length > 0 && (
          <span>Valkey 8 counts only keys. Rank by keys instead.</span>
        )}
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No hot slots yet">
      <span>
        Each key belongs to one of 16,384 hash slots. When clients use the database, the slots with
        the most CPU time, bytes, or keys appear here.
      </span>
    </EmptyState>
  );
}

const COLUMNS = (bdb: Bdb): Column<HotSlot>[] => [
  {
    id: 'slot',
    header: 'Slot',
    sort: ({ slot }) => slot,
    cell: ({ slot }) => <span className="num">{slot}</span>,
  },
  {
    id: 'shard',
    header: 'Shard',
    sort: ({ shard_uid: uid }) => Number(uid),
    cell: ({ shard_uid: uid, node_uid: node }) => (
      <Link
        to="/databases/$uid/shards"
        params={{ uid: String(bdb.uid) }}
        search={{ shard: uid }}
        title={`On node ${node}`}
      >
        redis:{uid}
      </Link>
    ),
  },
  {
    id: 'keys',
    header: 'Keys',
    align: 'right',
    sort: (slot) => slot.key_count,
    cell: (slot) => (
      <span className="num" title={plural(slot.key_count, 'key')}>
        {format('count', slot.key_count)}
      </span>
    ),
  },
  // A shard has one main thread, so the ratio to one core is the load of that thread.
  rate('cpu', 'CPU of one core', 'ratio', (slot) => slot.cpu, 'cpu_usec'),
  rate('in', 'Bytes in', 'bytesPerSecond', (slot) => slot.ingress_bytes, 'network_bytes_in'),
  rate('out', 'Bytes out', 'bytesPerSecond', (slot) => slot.egress_bytes, 'network_bytes_out'),
];

function rate(
  id: string,
  header: string,
  unit: Unit,
  of: (slot: HotSlot) => number | undefined,
  counter: Counter,
): Column<HotSlot> {
  return {
    id,
    header,
    align: 'right',
    sort: (slot) => of(slot) ?? -1,
    cell: (slot) => (
      <span className="num" title={totalOf(slot, counter)}>
        {format(unit, of(slot))}
      </span>
    ),
  };
}

function totalOf({ total }: HotSlot, counter: Counter): string {
  const count = total[counter];
  if (count === undefined) return 'Not counted by the engine';
  const text = counter === 'cpu_usec' ? format('microseconds', count) : formatExact('bytes', count);
  return `${text} since the shard started`;
}
