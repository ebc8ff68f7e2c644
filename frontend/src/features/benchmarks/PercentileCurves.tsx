/** Latency by percentile of one run or several, the slow end drawn large; every figure is in the table beside it. */
import { useState } from 'react';
import { format } from '@/lib/format';
import { Card } from '@/ui/Card';
import { CurveFigure } from '@/ui/chart/CurveFigure';
import { CYCLE } from '@/ui/chart/palette';
import { DataTable } from '@/ui/DataTable';
import {
  type Curve,
  endOf,
  levelsOf,
  nearest,
  percentileWord,
  placeOf,
  rowsOf,
  ticksOf,
  valueAt,
} from './percentiles';
import classes from './percentiles.module.css';

const colorOf = (index: number) => CYCLE[index % CYCLE.length] ?? CYCLE[0];

export function PercentileCurves({ curves }: { curves: readonly Curve[] }) {
  const known = curves.filter(({ points }) => points.length > 0);
  const missing = curves.filter(({ points }) => points.length === 0).map(({ name }) => name);
  return (
    <Card title="Latency by percentile">
      {known.length > 0 && (
        <div className={classes.side}>
          <Plot curves={known} />
          <DataTable
            label="Latency by percentile"
            rows={rowsOf(known)}
            rowKey={({ percentile }) => percentile}
            columns={[
              {
                id: 'percentile',
                header: 'Percentile',
                cell: ({ percentile }) => percentileWord(percentile),
              },
              ...known.map((curve, index) => ({
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
          Not known of {missing.join(', ')}: nothing succeeded, or the run ended before percentiles
          were kept.
        </p>
      )}
    </Card>
  );
}

function Plot({ curves }: { curves: readonly Curve[] }) {
  const [at, setAt] = useState<number>();
  const end = endOf(curves);
  const slowest = Math.max(...curves.flatMap(({ points }) => points.map(({ ms }) => ms))) || 1;
  return (
    <CurveFigure
      label={`Latency by percentile of ${curves.map(({ name }) => name).join(', ')}`}
      lines={curves.map((curve, index) => ({
        name: curve.name,
        color: colorOf(index),
        points: curve.points.map(({ percentile, ms }) => [placeOf(percentile, end), ms] as const),
        at: at === undefined ? undefined : valueAt(curve, at),
      }))}
      levels={levelsOf(slowest)}
      ticks={ticksOf(end).map((percentile) => ({
        place: placeOf(percentile, end),
        text: percentile >= 100 ? 'slowest' : `${percentile} %`,
      }))}
      word={(ms) => format('ms', ms)}
      cross={at === undefined ? undefined : placeOf(at, end)}
      crossWord={at === undefined ? '' : percentileWord(at)}
      onPoint={(place) => setAt(place === undefined ? undefined : nearest(curves, place, end))}
    />
  );
}
