/** Chart of curves over a quantity other than time: axes, crosshair, legend. Labels and units are props. */
import type { PointerEvent, ReactNode } from 'react';
import classes from './CurveFigure.module.css';

export interface CurveLine {
  name: string;
  color: string;
  /** Positions on the axis, 0 to 1, with values. */
  points: readonly (readonly [place: number, value: number])[];
  /** The value under the crosshair. */
  at?: number | undefined;
}

interface Props {
  label: string;
  lines: readonly CurveLine[];
  /** Values with labels, from 0. The last one is the top of the axis. */
  levels: readonly number[];
  ticks: readonly { place: number; text: string }[];
  format: (value: number | undefined) => string;
  /** Position of the crosshair, 0 to 1. */
  cross: number | undefined;
  /** Text for the position of the crosshair. */
  crosshairLabel: string;
  onPoint: (place: number | undefined) => void;
  /** A highlighted point with its label. */
  mark?: { place: number; value: number; text: string } | undefined;
  children?: ReactNode;
}

const WIDTH = 640;
const HEIGHT = 260;
const LEFT = 56;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 24;

export function CurveFigure(props: Props) {
  const { label, lines, levels, ticks, format, cross, crosshairLabel, onPoint, mark, children } =
    props;
  const top = levels.at(-1) || 1;
  const x = (place: number) => LEFT + place * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const point = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const place = (((clientX - left) / width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    onPoint(Math.min(1, Math.max(0, place)));
  };
  return (
    <figure className={classes.figure}>
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={label}
        onPointerMove={point}
        onPointerLeave={() => onPoint(undefined)}
      >
        {levels.map((value) => (
          <g key={value}>
            <line
              className={classes.grid}
              x1={LEFT}
              x2={WIDTH - RIGHT}
              y1={y(value)}
              y2={y(value)}
            />
            <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">
              {format(value)}
            </text>
          </g>
        ))}
        {ticks.map(({ place, text }) => (
          <g key={place}>
            <line
              className={classes.grid}
              x1={x(place)}
              x2={x(place)}
              y1={TOP}
              y2={HEIGHT - BOTTOM}
            />
            <text x={x(place)} y={HEIGHT - 8} textAnchor={place >= 1 ? 'end' : 'middle'}>
              {text}
            </text>
          </g>
        ))}
        {lines.map(({ name, color, points }) => (
          <polyline
            key={name}
            className={classes.curve}
            style={{ stroke: color }}
            points={points.map(([place, value]) => `${x(place)},${y(value)}`).join(' ')}
          />
        ))}
        {mark && (
          <g>
            <line
              className={classes.mark}
              x1={x(mark.place)}
              x2={x(mark.place)}
              y1={TOP}
              y2={HEIGHT - BOTTOM}
            />
            <circle className={classes.dot} cx={x(mark.place)} cy={y(mark.value)} r={4} />
            <text
              x={x(mark.place) + (mark.place > 0.8 ? -6 : 6)}
              y={TOP + 10}
              textAnchor={mark.place > 0.8 ? 'end' : 'start'}
            >
              {mark.text}
            </text>
          </g>
        )}
        {cross !== undefined && (
          <line
            className={classes.cross}
            x1={x(cross)}
            x2={x(cross)}
            y1={TOP}
            y2={HEIGHT - BOTTOM}
          />
        )}
        {cross !== undefined &&
          lines.map(({ name, color, at }) =>
            at === undefined ? null : (
              <circle key={name} cx={x(cross)} cy={y(at)} r={3.5} fill={color} />
            ),
          )}
      </svg>
      <figcaption className={classes.legend}>
        <strong>{crosshairLabel}</strong>
        {lines.map(({ name, color, at }) => (
          <span key={name}>
            <i style={{ background: color }} aria-hidden /> {name}
            {cross !== undefined && `: ${format(at)}`}
          </span>
        ))}
        {children}
      </figcaption>
    </figure>
  );
}
