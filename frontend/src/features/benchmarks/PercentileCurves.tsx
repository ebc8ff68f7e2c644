/** Latency by percentile of one run or several, the slow end drawn large; every figure is in the table beside it. */
import { type PointerEvent, useState } from 'react';
import { format } from '@/lib/format';
import { Card } from '@/ui/Card';
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

const WIDTH = 640;
const HEIGHT = 260;
const LEFT = 56;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 24;

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
  const levels = levelsOf(slowest);
  const top = levels.at(-1) ?? slowest;
  const x = (percentile: number) => LEFT + placeOf(percentile, end) * (WIDTH - LEFT - RIGHT);
  const y = (ms: number) => HEIGHT - BOTTOM - (ms / top) * (HEIGHT - BOTTOM - TOP);
  const point = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const place = (((clientX - left) / width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    setAt(nearest(curves, place, end));
  };
  return (
    <figure className={classes.figure}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={`Latency by percentile of ${curves.map(({ name }) => name).join(', ')}`}
        onPointerMove={point}
        onPointerLeave={() => setAt(undefined)}
      >
        {levels.map((ms) => (
          <g key={ms}>
            <line className={classes.grid} x1={LEFT} x2={WIDTH - RIGHT} y1={y(ms)} y2={y(ms)} />
            <text x={LEFT - 6} y={y(ms) + 4} textAnchor="end">
              {format('ms', ms)}
            </text>
          </g>
        ))}
        {ticksOf(end).map((percentile) => (
          <g key={percentile}>
            <line
              className={classes.grid}
              x1={x(percentile)}
              x2={x(percentile)}
              y1={TOP}
              y2={HEIGHT - BOTTOM}
            />
            <text
              x={x(percentile)}
              y={HEIGHT - 8}
              textAnchor={percentile >= 100 ? 'end' : 'middle'}
            >
              {percentile >= 100 ? 'slowest' : `${percentile} %`}
            </text>
          </g>
        ))}
        {curves.map((curve, index) => (
          <polyline
            key={curve.name}
            className={classes.curve}
            style={{ stroke: colorOf(index) }}
            points={curve.points.map(({ percentile, ms }) => `${x(percentile)},${y(ms)}`).join(' ')}
          />
        ))}
        {at !== undefined && (
          <line className={classes.cross} x1={x(at)} x2={x(at)} y1={TOP} y2={HEIGHT - BOTTOM} />
        )}
        {at !== undefined &&
          curves.map((curve, index) => {
            const ms = valueAt(curve, at);
            return ms === undefined ? null : (
              <circle key={curve.name} cx={x(at)} cy={y(ms)} r={3.5} fill={colorOf(index)} />
            );
          })}
      </svg>
      <figcaption className={classes.legend}>
        <strong>{at === undefined ? '' : percentileWord(at)}</strong>
        {curves.map((curve, index) => (
          <span key={curve.name}>
            <i style={{ background: colorOf(index) }} aria-hidden /> {curve.name}
            {at !== undefined && `: ${format('ms', valueAt(curve, at))}`}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
