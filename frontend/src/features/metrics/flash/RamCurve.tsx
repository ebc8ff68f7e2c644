/** Expected RAM hit ratio at other RAM limits, compared with the measured ratio. */
import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { usePermission } from '@/api/access/session';
import { messageOf } from '@/api/http';
import { ramCurveQuery } from '@/api/metrics/ramCurve';
import type { Bdb, RamCurve as Curve } from '@/api/types';
import { format } from '@/lib/format';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { CurveFigure } from '@/ui/chart/CurveFigure';
import { COLOR } from '@/ui/chart/palette';
import { EmptyState } from '@/ui/EmptyState';
import { DataTable } from '@/ui/table/DataTable';
import classes from '../metrics.module.css';
import { CostDialog } from './CostDialog';
import { amountText, savingText } from './costText';
import {
  nearestRamPoint,
  type RamAlternative,
  ramAlternatives,
  ramAxisPosition,
  TICKS,
} from './ramEstimate';

export function RamCurve({ bdb }: { bdb: Bdb }) {
  const { data, error } = useQuery(ramCurveQuery(bdb.uid));
  return (
    <Card title="RAM hit ratio by RAM limit">
      {error && !data && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {data && data.points.length > 0 && (
        <>
          <p className={classes.curveNote}>
            Expected share of fetches and writes whose value is in RAM, estimated from recent
            accesses to several thousand keys per shard. The right end is the memory limit of the
            database.
          </p>
          <div className={classes.curve}>
            <Plot curve={data} />
            <Choices curve={data} bdb={bdb} />
          </div>
          <Costs curve={data} />
          {data.detail && (
            <p className={classes.curveNote}>Data of some shards is missing. {data.detail}</p>
          )}
        </>
      )}
      {data && data.points.length === 0 && (
        <EmptyState title="No estimate yet">
          <span>{data.detail}</span>
        </EmptyState>
      )}
    </Card>
  );
}

function Plot({ curve }: { curve: Curve }) {
  const { points, ram_size, expected } = curve;
  const [at, setAt] = useState<number>();
  const largest = points.at(-1)?.ram_size ?? 1;
  const nearest = at === undefined ? undefined : nearestRamPoint(points, at * largest);
  return (
    <CurveFigure
      label="Expected RAM hit ratio by RAM limit"
      lines={[
        {
          name: 'Expected RAM hit ratio',
          color: COLOR.hit,
          points: points.map((point) => [ramAxisPosition(points, point.ram_size), point.hit_ratio]),
          at: nearest?.hit_ratio,
        },
      ]}
      levels={[0, 0.25, 0.5, 0.75, 1]}
      ticks={TICKS.map((position) => ({ position, text: format('bytes', position * largest) }))}
      format={(ratio) => format('ratio', ratio)}
      cross={nearest && ramAxisPosition(points, nearest.ram_size)}
      crosshairLabel={nearest ? format('bytes', nearest.ram_size) : ''}
      onPoint={setAt}
      mark={
        expected === null
          ? undefined
          : { position: ramAxisPosition(points, ram_size), value: expected, text: 'now' }
      }
    />
  );
}

function Choices({ curve, bdb }: { curve: Curve; bdb: Bdb }) {
  const { expected, measured, ram_size } = curve;
  const now: RamAlternative[] =
    expected === null
      ? []
      : [
          {
            size: ram_size,
            ratio: expected,
            change: 0,
            nodes: curve.costs.now.nodes,
            amount: curve.costs.now.amount,
          },
        ];
  const rows = [...now, ...ramAlternatives(curve)].sort((a, b) => a.size - b.size);
  return (
    <div>
      <DataTable
        label="Expected RAM hit ratio"
        rows={rows}
        rowKey={({ size }) => size}
        columns={[
          { id: 'size', header: 'RAM', cell: ({ size }) => <Bytes value={size} /> },
          {
            id: 'ratio',
            header: 'Expected',
            align: 'right',
            cell: ({ ratio }) => format('ratio', ratio),
          },
          {
            id: 'change',
            header: 'Change',
            align: 'right',
            cell: ({ size, change }) => (size === ram_size ? 'now' : changeText(change)),
          },
          {
            id: 'nodes',
            header: 'Nodes',
            align: 'right',
            cell: ({ nodes }) => <span className="num">{nodes ?? '–'}</span>,
          },
          ...(curve.costs.currency === null
            ? []
            : [
                {
                  id: 'cost',
                  header: 'Cost',
                  align: 'right' as const,
                  cell: ({ amount }: RamAlternative) => (
                    <span className="num">{amountText(amount)}</span>
                  ),
                },
              ]),
        ]}
      />
      <p className={classes.curveNote}>
        Measured now: {format('ratio', measured)}.{' '}
        <Link to="/databases/$uid/configuration" params={{ uid: String(bdb.uid) }}>
          Change RAM limit
        </Link>
      </p>
    </div>
  );
}

/** Nodes and cost with all values in RAM, compared with the current RAM limit. */
function Costs({ curve: { costs, measured } }: { curve: Curve }) {
  const [isOpen, setOpen] = useState(false);
  const mayAdminister = usePermission('administer');
  return (
    <>
      <p className={classes.curveNote}>
        {savingText(costs, measured)}{' '}
        {mayAdminister && (
          <Button variant="default" size="compact-xs" onClick={() => setOpen(true)}>
            {costs.currency === null ? 'Set prices' : 'Edit prices'}
          </Button>
        )}
      </p>
      {isOpen && <CostDialog onClose={() => setOpen(false)} />}
    </>
  );
}

/** Format a change in percentage points. */
const changeText = (change: number): string =>
  `${change < 0 ? '−' : '+'}${(Math.abs(change) * 100).toFixed(1)}`;
