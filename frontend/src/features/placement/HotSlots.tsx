/** The hash slots that take most: where one shard is busier than its neighbours, and why. */
import { Alert, Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import { hotSlotsQuery, type SlotMetric } from '@/api/slots';
import type { Bdb, HotSlot, HotSlots as Look } from '@/api/types';
import { exact, format, plural, type Unit } from '@/lib/format';
import { Card } from '@/ui/Card';
import { type Column, DataTable } from '@/ui/DataTable';
import { EmptyState } from '@/ui/EmptyState';
import classes from './placement.module.css';

const METRICS: readonly { value: SlotMetric; label: string }[] = [
  { value: 'cpu_usec', label: 'Processor time' },
  { value: 'network_bytes_in', label: 'Bytes in' },
  { value: 'network_bytes_out', label: 'Bytes out' },
  { value: 'key_count', label: 'Keys' },
];

/** Counted whether or not a rate is known. */
type Counter = keyof HotSlot['total'];

export function HotSlots({ bdb }: { bdb: Bdb }) {
  const [by, rankBy] = useState<SlotMetric>('cpu_usec');
  const { data, error, isFetching, refetch } = useQuery(hotSlotsQuery(bdb.uid, by));
  return (
    <Card
      title="Hot slots"
      className={classes.hotSlots}
      flush
      aside={
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
          {messageOf(error)} {data ? 'What is shown is older.' : ''}
        </Alert>
      )}
      {data?.slots.length ? <Explanation look={data} /> : null}
      {(data || !error) && (
        <DataTable
          key={by}
          label="Hot slots"
          columns={COLUMNS(bdb)}
          rows={data?.slots}
          rowKey={({ slot }) => slot}
          empty={<Nothing look={data} />}
        />
      )}
    </Card>
  );
}

/** Of when the numbers are, and who is missing. */
function Explanation({ look }: { look: Look }) {
  return (
    <p className={classes.slotsNote}>
      {look.detail && <strong>{look.detail} </strong>}
      {look.interval === undefined
        ? 'Ranked by what was counted since each shard began; what happens now comes with the next look.'
        : `What happened in the last ${format('plain', look.interval)} s. Hold the pointer over a number for the total since its shard began.`}{' '}
      Keys with the same part in {'{braces}'} share a slot: one slot that takes much is one key, or
      one such part, that is used much. More shards do not help it.
    </p>
  );
}

function Nothing({ look }: { look: Look | undefined }) {
  if (look?.detail) {
    return (
      <EmptyState title="Not known here">
        <span>{look.detail}</span>
        {look.by !== 'key_count' && look.shards.length > 0 && (
          <span>Keys are counted by Valkey 8, too: rank by keys.</span>
        )}
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No slot has taken anything yet">
      <span>
        Each key belongs to one of 16,384 hash slots. As soon as clients use some, those that take
        most processor time or bytes, or hold most keys, are listed here.
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
  // What one core does in a second: of a shard's one main thread, that is its share.
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
  if (count === undefined) return 'Not counted by its engine';
  const text = counter === 'cpu_usec' ? format('microseconds', count) : exact('bytes', count);
  return `${text} since its shard began`;
}
