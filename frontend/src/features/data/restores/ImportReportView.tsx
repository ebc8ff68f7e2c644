/** Report about files before an import: result, reasons, memory, and the contents of each file. */

import { Alert } from '@mantine/core';
import type { ImportReport } from '@/api/types';
import { format, formatExact } from '@/lib/format';
import { Bytes } from '@/ui/Bytes';
import { type Fact, Facts } from '@/ui/Facts';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../data.module.css';
import { forecastStatus, memoryText, typesText } from './importReportText';

type File = ImportReport['files'][number];

export function ImportReportView({ report }: { report: ImportReport }) {
  const { tone, text } = forecastStatus(report.forecast);
  return (
    <>
      <div>
        <Status tone={tone} chip>
          {text}
        </Status>
      </div>
      <Reasons title="Why the import is not possible" color="red" items={report.problems} />
      <Reasons title="What is not imported" color="yellow" items={report.losses} />
      <Facts items={factsOf(report)} />
      <DataTable
        label="Inspected files"
        columns={COLUMNS}
        rows={report.files.map((file, position) => ({ ...file, position }))}
        rowKey={({ position }) => position}
      />
    </>
  );
}

interface ReasonsProps {
  title: string;
  color: string;
  items: ImportReport['losses'];
}

function Reasons({ title, color, items }: ReasonsProps) {
  if (items.length === 0) return null;
  return (
    <Alert color={color} title={title}>
      <ul className={classes.notes}>
        {items.map(({ code, message, keys }) => (
          <li key={code + message}>
            {message}
            {keys > 0 && ` (${format('count', keys)})`}
          </li>
        ))}
      </ul>
    </Alert>
  );
}

const factsOf = (report: ImportReport): Fact[] => [
  ['Keys', formatExact('count', report.keys)],
  ['Expired keys', formatExact('count', report.expired)],
  ['Memory', memoryText(report)],
];

const COLUMNS: Column<File & { position: number }>[] = [
  {
    id: 'file',
    header: 'File',
    cell: ({ path, error }) => (
      <div className={classes.fileStatus}>
        <span className={classes.error}>{path}</span>
        {error && <span className={classes.error}>{error}</span>}
      </div>
    ),
  },
  { id: 'format', header: 'Format', cell: ({ format: written }) => written },
  {
    id: 'keys',
    header: 'Keys',
    align: 'right',
    cell: ({ keys, types }) => (
      <span className="num" title={typesText(types)}>
        {format('count', keys)}
      </span>
    ),
  },
  {
    id: 'expires',
    header: 'With expiry',
    align: 'right',
    cell: ({ expires }) => <span className="num">{format('count', expires)}</span>,
  },
  {
    id: 'slots',
    header: 'Slots',
    align: 'right',
    cell: ({ slots }) => <span className="num">{format('count', slots)}</span>,
  },
  {
    id: 'memory',
    header: 'Memory',
    align: 'right',
    cell: ({ needed_bytes }) => <Bytes value={needed_bytes} />,
  },
];
