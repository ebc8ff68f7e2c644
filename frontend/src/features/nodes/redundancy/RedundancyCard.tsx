/** Card about the loss of the largest node and of each zone: whether data stays available, and whether lost shards can be rebuilt. */

import { useQuery } from '@tanstack/react-query';
import { redundancyQuery } from '@/api/cluster/redundancy';
import type { LossOutcome } from '@/api/types';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../nodes.module.css';
import { EFFECTS, keyOf, shownLosses, summaryOf, titleOf } from './redundancyRows';

const COLUMNS: readonly Column<LossOutcome>[] = [
  { id: 'loss', header: 'Loss of', cell: (loss) => titleOf(loss) },
  {
    id: 'effect',
    header: 'Effect',
    cell: ({ effect, description }) => (
      <>
        <Status tone={EFFECTS[effect].tone}>{EFFECTS[effect].text}</Status>
        <div className="dim small">{description}</div>
      </>
    ),
  },
  {
    id: 'shards',
    header: 'Shards',
    align: 'right',
    optional: true,
    cell: ({ shards }) => <span className="num">{shards}</span>,
  },
  {
    id: 'memory',
    header: 'Memory limits',
    align: 'right',
    optional: true,
    cell: ({ memory }) => <Bytes value={memory} />,
  },
];

export function RedundancyCard() {
  const { data } = useQuery(redundancyQuery);
  const losses = data ? shownLosses(data.losses) : [];
  if (!data || losses.length === 0) return null;
  return (
    <Card title="Redundancy" flush>
      <p className={classes.summary}>{summaryOf(data.survives_node, data.survives_zone ?? null)}</p>
      <DataTable label="Redundancy" columns={COLUMNS} rows={losses} rowKey={keyOf} focusable />
    </Card>
  );
}
