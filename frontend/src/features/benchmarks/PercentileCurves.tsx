/**
 * Latency by percentile of one or more runs, with an axis that enlarges high percentiles, and a
 * table of the values.
 */
import { useState } from 'react';
import { format } from '@/lib/format';
import { Card } from '@/ui/Card';
import { CurveFigure } from '@/ui/chart/CurveFigure';
import { CYCLE } from '@/ui/chart/palette';
import { DataTable } from '@/ui/table/DataTable';
import {
  axisLevels,
  type Curve,
  nearestPercentile,
  percentileAxisEnd,
  percentileLabel,
  percentilePosition,
  rowsOf,
  ticksOf,
  valueAt,
} from './percentiles';
import classes from './percentiles.module.css';

const colorOf = (index: number) => CYCLE[index % CYCLE.length] ?? CYCLE[0];

export function PercentileCurves({ curves }: { curves: readonly Curve[] }) {
  const available = curves.filter(({ points }) => points.length > 0);
  const missing = curves.filter(({ points }) => points.length === 0).map(({ name }) => name);
  return (
    <Card title="Latency by percentile">
      {available.length > 0 && (
        <div className={classes.side}>
          <Plot curves={available} />
          <DataTable
            label="Latency by percentile"
            rows={rowsOf(available)}
            rowKey={({ percentile }) => percentile}
            columns={[
              {
                id: 'percentile',
                header: 'Percentile',
                cell: ({ percentile }) => percentileLabel(percentile),
              },
              ...available.map((curve, index) => ({
                id: String(index),
                header: curve.name,
                align: 'right' as const,
                cell: ({ values }: { values: (number | undefined)[] }) =>
                  format('ms', values[index]),
              })),
            ]}
          />
        </div>
      )}
      {missing.length > 0 && (
        <p className={classes.note}>
          No percentiles for {missing.join(', ')}. No requests succeeded, or the run was made with
          an earlier release that did not store percentiles.
        </p>
      )}
    </Card>
  );
}

function Plot({ curves }: { curves: readonly Curve[] }) {
  const [at, setAt] = useState<number>();
  const end = percentileAxisEnd(curves);
  const slowest = Math.max(...curves.flatMap(({ points }) => points.map(({ ms }) => ms))) || 1;
  return (
    <CurveFigure
      label={`Latency by percentile of ${curves.map(({ name }) => name).join(', ')}`}
      lines={curves.map((curve, index) => ({
        name: curve.name,
        color: colorOf(index),
        points: curve.points.map(
          ({ percentile, ms }) => [percentilePosition(percentile, end), ms] as const,
        ),
        at: at === undefined ? undefined : valueAt(curve, at),
      }))}
      levels={axisLevels(slowest)}
      ticks={ticksOf(end).map((percentile) => ({
        position: percentilePosition(percentile, end),
        text: percentile >= 100 ? 'slowest' : `${percentile}%`,
      }))}
      format={(ms) => format('ms', ms)}
      cross={at === undefined ? undefined : percentilePosition(at, end)}
      crosshairLabel={at === undefined ? '' : percentileLabel(at)}
      onPoint={(position) =>
        setAt(position === undefined ? undefined : nearestPercentile(curves, position, end))
      }
    />
  );
}
