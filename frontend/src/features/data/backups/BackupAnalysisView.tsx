/** Where the bytes of a backup are: by type, prefix and time to live, and the largest keys. */

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { analysisQuery } from '@/api/data/backups';
import type { BackupAnalysis } from '@/api/types';
import { downloadText } from '@/lib/download';
import { format, formatExact } from '@/lib/format';
import { Bytes } from '@/ui/Bytes';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../data.module.css';
import { type AnalysisRow, analysisParts } from './analysis';

export function BackupAnalysisView({ backup }: { backup: number }) {
  const { data } = useQuery(analysisQuery(backup));
  if (!data) return null;
  const parts = analysisParts(data);
  const downloadJson = () =>
    downloadText(`backup-${backup}-analysis.json`, JSON.stringify(data, null, 2));
  return (
    <>
      {parts.length > 0 && (
        <Button variant="default" className={classes.start} onClick={downloadJson}>
          Download analysis
        </Button>
      )}
      {parts.map(({ title, header, rows }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <DataTable
            label={title}
            columns={totalColumns(header)}
            rows={rows}
            rowKey={({ name }) => name}
            initialSort={{ id: 'bytes', descending: true }}
          />
        </section>
      ))}
      {data.largest.length > 0 && (
        <section aria-label="Largest keys">
          <h2>Largest keys</h2>
          <DataTable
            label="Largest keys"
            columns={KEY_COLUMNS}
            rows={data.largest}
            rowKey={({ key }) => key}
          />
        </section>
      )}
    </>
  );
}

const totalColumns = (header: string): Column<AnalysisRow>[] => [
  { id: 'name', header, sort: ({ name }) => name, cell: ({ name }) => name },
  {
    id: 'keys',
    header: 'Keys',
    align: 'right',
    width: 100,
    sort: ({ keys }) => keys,
    descendingFirst: true,
    cell: ({ keys }) => (
      <span className="num" title={formatExact('count', keys)}>
        {format('count', keys)}
      </span>
    ),
  },
  {
    id: 'bytes',
    header: 'Serialized size',
    align: 'right',
    width: 150,
    sort: ({ bytes }) => bytes,
    descendingFirst: true,
    cell: ({ bytes }) => <Bytes value={bytes} />,
  },
  {
    id: 'share',
    header: 'Share',
    align: 'right',
    width: 80,
    cell: ({ share }) => <span className="num">{format('ratio', share)}</span>,
  },
];

const KEY_COLUMNS: Column<BackupAnalysis['largest'][number]>[] = [
  { id: 'key', header: 'Key', cell: ({ key }) => <code>{key}</code> },
  { id: 'type', header: 'Type', cell: ({ type }) => type },
  {
    id: 'elements',
    header: 'Elements',
    align: 'right',
    width: 100,
    cell: ({ elements }) => <span className="num">{format('count', elements)}</span>,
  },
  {
    id: 'bytes',
    header: 'Serialized size',
    align: 'right',
    width: 150,
    cell: ({ bytes }) => <Bytes value={bytes} />,
  },
];
