/** Columns that all tables of availability share. */

import type { AvailabilityMonth } from '@/api/types';
import { format } from '@/lib/format';
import { Status } from '@/ui/Status';
import type { Column } from '@/ui/table/DataTable';
import {
  allowedSeconds,
  percentText,
  secondsText,
  unknownShare,
  type Verdict,
  verdictOf,
} from './serviceLevel';

const VERDICTS: Record<Verdict, React.ReactNode> = {
  met: <Status tone="ok">Met</Status>,
  missed: <Status tone="broken">Missed</Status>,
  unknown: <Status tone="unknown">Unknown</Status>,
};

export const figureColumns = (target: number): readonly Column<AvailabilityMonth>[] => [
  {
    id: 'percent',
    header: 'Availability',
    align: 'right',
    cell: ({ percent }) => <span className="num">{percentText(percent)}</span>,
    sort: ({ percent }) => percent ?? Number.NaN,
  },
  {
    id: 'target',
    header: 'Target',
    cell: (row) => VERDICTS[verdictOf(row, target)],
  },
  {
    id: 'failed',
    header: 'Not served',
    align: 'right',
    descendingFirst: true,
    cell: ({ failed, month }) => (
      <span
        className="num"
        title={`The target allows ${secondsText(allowedSeconds(month, target))} in the complete month`}
      >
        {secondsText(failed)}
      </span>
    ),
    sort: ({ failed }) => failed,
  },
  {
    id: 'served',
    header: 'Served',
    align: 'right',
    optional: true,
    cell: ({ served }) => <span className="num">{secondsText(served)}</span>,
    sort: ({ served }) => served,
  },
  {
    id: 'unknown',
    header: 'Unknown',
    align: 'right',
    descendingFirst: true,
    cell: (row) => (
      <span className="num" title={`${format('ratio', unknownShare(row))} of the counted time`}>
        {secondsText(row.unknown)}
      </span>
    ),
    sort: ({ unknown }) => unknown,
  },
];
