/** Chart of the latency by rate that searches have measured, with the limit and the found rate. */
import { useState } from 'react';
import { format } from '@/lib/format';
import { CurveFigure } from '@/ui/chart/CurveFigure';
import { COLOR, CYCLE } from '@/ui/chart/palette';
import { axisLevels } from '../percentiles';
import { axisTop, latencyAt, nearestRate, type RateCurve } from './findMax';

interface Props {
  label: string;
  curves: readonly RateCurve[];
  limitMs: number;
  /** The found rate; null if there is none or the curves belong to several runs. */
  found?: number | null;
}

export function RateCurves({ label, curves, limitMs, found = null }: Props) {
  const [at, setAt] = useState<number>();
  const highest = Math.max(...curves.flatMap(({ points }) => points.map(({ rate }) => rate)));
  if (!Number.isFinite(highest)) return null;
  const ticks = axisLevels(highest);
  const end = ticks.at(-1) || 1;
  const levels = axisLevels(axisTop(limitMs));
  const top = levels.at(-1) || 1;
  const cut = (ms: number) => Math.min(ms, top);
  const isCut = curves.some(({ points }) => points.some(({ ms }) => ms > top));
  return (
    <CurveFigure
      label={label}
      lines={[
        ...curves.map(({ name, points }, index) => ({
          name,
          color: CYCLE[index % CYCLE.length] ?? CYCLE[0],
          points: points.map(({ rate, ms }) => [rate / end, cut(ms)] as const),
          at: points.find(({ rate }) => rate === at)?.ms,
          marked: true,
        })),
        {
          name: `Limit ${limitMs} ms`,
          color: COLOR.limit,
          points: [
            [0, limitMs],
            [1, limitMs],
          ],
          reference: true,
        },
      ]}
      levels={levels}
      ticks={ticks.map((rate) => ({ position: rate / end, text: format('ops', rate) }))}
      format={(ms) => format('ms', ms)}
      cross={at === undefined ? undefined : at / end}
      crosshairLabel={at === undefined ? '' : format('ops', at)}
      onPoint={(position) =>
        setAt(position === undefined ? undefined : nearestRate(curves, position * end))
      }
      mark={
        found === null
          ? undefined
          : {
              position: found / end,
              value: cut(latencyAt(curves, found) ?? 0),
              text: format('ops', found),
            }
      }
    >
      {isCut && <span>Latencies above {format('ms', top)} are cut off.</span>}
    </CurveFigure>
  );
}
