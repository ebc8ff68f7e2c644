/** Moments to which a database can be restored, to the second: the windows of its backups, and the gaps between them. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { restoreWindowsQuery } from '@/api/data/restores';
import { duration } from '@/lib/time';
import { Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { useZone } from '@/ui/useZone';
import { barParts, periods, periodText, type WindowRow, windowRows } from './restoreWindows';
import classes from './restoreWindows.module.css';

interface Props {
  bdb: number;
  /** Why a restore is not possible; undefined if it is. */
  denied: string | undefined;
  /** Called with the latest moment when the user wants to restore one. */
  onRestore: (until: number) => void;
}

export function RestoreWindows({ bdb, denied, onRestore }: Props) {
  const zone = useZone();
  const windows = useQuery(restoreWindowsQuery(bdb)).data ?? [];
  const list = periods(windows);
  const last = list.at(-1);
  if (!last) return null;
  return (
    <Card
      title="Points in time"
      flush
      headerEnd={
        <Button
          size="compact-sm"
          variant="default"
          disabled={denied !== undefined}
          title={denied}
          onClick={() => onRestore(last.to)}
        >
          Restore to a time…
        </Button>
      }
    >
      <div className={classes.windows}>
        <div className={classes.bar} aria-hidden="true">
          {barParts(list).map(({ left, width }) => (
            <span key={left} style={{ left: `${left}%`, width: `${width}%` }} />
          ))}
        </div>
        <ul>
          {list.map((period) => (
            <li key={period.from}>{periodText(period, zone)}</li>
          ))}
        </ul>
      </div>
      <DataTable
        label="Points in time by backup"
        columns={COLUMNS}
        rows={windowRows(windows)}
        rowKey={({ backup_uid }) => backup_uid}
        focusable
      />
    </Card>
  );
}

const COLUMNS: Column<WindowRow>[] = [
  {
    id: 'backup',
    header: 'Base backup',
    cell: ({ backup_uid }) => <span className="num">{backup_uid}</span>,
  },
  { id: 'from', header: 'From', isTime: true, cell: ({ from }) => <Stamp time={isoText(from)} /> },
  { id: 'to', header: 'To', isTime: true, cell: ({ to }) => <Stamp time={isoText(to)} /> },
  {
    id: 'gap',
    header: 'Gap before',
    cell: ({ gap }) =>
      gap ? (
        <Status tone="attention" title="Moments in this period cannot be restored">
          {duration(gap / 1000)}
        </Status>
      ) : (
        <Dash reason="No moment is missing before it" />
      ),
  },
];

const isoText = (ms: number): string => new Date(ms).toISOString();
