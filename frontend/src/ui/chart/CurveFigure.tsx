/** Chart of curves over a quantity other than time: axes, crosshair, legend. Labels and units are props. */
import type { PointerEvent, ReactNode } from 'react';
import classes from './CurveFigure.module.css';

export interface CurveLine {
  name: string;
  color: string;
  /** Positions on the axis, 0 to 1, with values. */
  points: readonly (readonly [position: number, value: number])[];
  /** The value under the crosshair. */
  at?: number | undefined;
  /** Whether the curve is a reference for the others. It is dashed. */
  reference?: boolean;
  /** Whether to mark the points, because each is a measurement. */
  marked?: boolean;
}

interface Props {
  label: string;
  lines: readonly CurveLine[];
  /** Values with labels, from 0. The last one is the top of the axis. */
  levels: readonly number[];
  /** Labels of the levels; by default the formatted values. */
  levelLabels?: readonly string[];
  ticks: readonly { position: number; text: string }[];
  format: (value: number | undefined) => string;
  /** Position of the crosshair, 0 to 1. */
  cross: number | undefined;
  /** Text for the position of the crosshair. */
  crosshairLabel: string;
  onPoint: (position: number | undefined) => void;
  /** A highlighted point with its label. */
  mark?: { position: number; value: number; text: string } | undefined;
  children?: ReactNode;
}

const WIDTH = 640;
const HEIGHT = 260;
const LEFT = 56;
const RIGHT = 14;
const TOP = 10;
const BOTTOM = 24;

export function CurveFigure(props: Props) {
  const { label, lines, levels, levelLabels, ticks, format, cross } = props;
  const { crosshairLabel, onPoint, mark, children } = props;
  const top = levels.at(-1) || 1;
  const x = (position: number) => LEFT + position * (WIDTH - LEFT - RIGHT);
  const y = (value: number) => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - TOP);
  const point = ({ clientX, currentTarget }: PointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const position = (((clientX - left) / width) * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT);
    onPoint(Math.min(1, Math.max(0, position)));
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
        {levels.map((value, index) => (
          <g key={value}>
            <line
              className={classes.grid}
              x1={LEFT}
              x2={WIDTH - RIGHT}
              y1={y(value)}
              y2={y(value)}
            />
            <text x={LEFT - 6} y={y(value) + 4} textAnchor="end">
              {levelLabels?.[index] ?? format(value)}
            </text>
          </g>
        ))}
        {ticks.map(({ position, text }) => (
          <g key={position}>
            <line
              className={classes.grid}
              x1={x(position)}
              x2={x(position)}
              y1={TOP}
              y2={HEIGHT - BOTTOM}
            />
            <text x={x(position)} y={HEIGHT - 8} textAnchor={position >= 1 ? 'end' : 'middle'}>
              {text}
            </text>
          </g>
        ))}
        {lines.map(({ name, color, points, reference, marked }) => (
          <g key={name}>
            <polyline
              className={classes.curve}
              data-reference={reference || undefined}
              style={{ stroke: color }}
              points={points.map(([position, value]) => `${x(position)},${y(value)}`).join(' ')}
            />
            {marked &&
              points.map(([position, value]) => (
                <circle key={position} cx={x(position)} cy={y(value)} r={3} fill={color} />
              ))}
          </g>
        ))}
        {mark && (
          <g>
            <line
              className={classes.mark}
              x1={x(mark.position)}
              x2={x(mark.position)}
              y1={TOP}
              y2={HEIGHT - BOTTOM}
            />
            <circle className={classes.dot} cx={x(mark.position)} cy={y(mark.value)} r={4} />
            <text
              x={x(mark.position) + (mark.position > 0.8 ? -6 : 6)}
              y={TOP + 10}
              textAnchor={mark.position > 0.8 ? 'end' : 'start'}
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
