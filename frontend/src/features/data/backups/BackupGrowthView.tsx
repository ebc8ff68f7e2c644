/** Growth since the previous backup: keys and bytes, by type and prefix. */

import { useQuery } from '@tanstack/react-query';
import { growthQuery } from '@/api/data/backups';
import { formatExact } from '@/lib/format';
import { Stamp } from '@/ui/Ago';
import { Bytes } from '@/ui/Bytes';
import { Dash } from '@/ui/Dash';
import { Facts } from '@/ui/Facts';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../data.module.css';
import { changeText, type GrowthRow, growthParts } from './growth';

export function BackupGrowthView({ backup }: { backup: number }) {
  const { data } = useQuery(growthQuery(backup));
  if (!data || data.previous_uid === null) return null;
  return (
    <section aria-label="Growth" className={classes.growth}>
      <h2>Growth since the previous backup</h2>
      <Facts
        items={[
          ['Previous backup', <Stamp key="at" time={data.previous_at ?? undefined} />],
          ['Keys', changeText('count', data.keys, data.previous_keys)],
          ['Raw size', changeText('bytes', data.bytes, data.previous_bytes)],
        ]}
      />
      {growthParts(data).map(({ title, header, rows }) => (
        <DataTable
          key={title}
          label={title}
          columns={columnsOf(header)}
          rows={rows}
          rowKey={({ name }) => name}
        />
      ))}
    </section>
  );
}

const UNKNOWN = 'Not among the largest prefixes of the previous backup';

const columnsOf = (header: string): Column<GrowthRow>[] => [
  { id: 'name', header, sort: ({ name }) => name, cell: ({ name }) => name },
  {
    id: 'keys',
    header: 'Keys',
    align: 'right',
    width: 110,
    sort: ({ keys, previous_keys }) => keys - (previous_keys ?? 0),
    descendingFirst: true,
    cell: ({ keys, previous_keys }) => <Change kind="count" now={keys} before={previous_keys} />,
  },
  {
    id: 'bytes',
    header: 'Serialized size',
    align: 'right',
    width: 150,
    sort: ({ bytes, previous_bytes }) => bytes - (previous_bytes ?? 0),
    descendingFirst: true,
    cell: ({ bytes, previous_bytes }) => (
      <Change kind="bytes" now={bytes} before={previous_bytes} />
    ),
  },
  {
    id: 'now',
    header: 'Now',
    align: 'right',
    width: 100,
    optional: true,
    cell: ({ bytes }) => <Bytes value={bytes} />,
  },
];

interface ChangeProps {
  kind: 'bytes' | 'count';
  now: number;
  before: number | null;
}

function Change({ kind, now, before }: ChangeProps) {
  if (before === null) return <Dash reason={UNKNOWN} />;
  return (
    <span className="num" title={`${formatExact(kind, before)} → ${formatExact(kind, now)}`}>
      {changeText(kind, now, before)}
    </span>
  );
}
