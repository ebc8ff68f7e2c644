/** Chart of the series of a scenario result that have the same unit, with the ideal values. */
import { useState } from 'react';
import type { ScenarioSeries } from '@/api/types';
import { axisLabels, format } from '@/lib/format';
import { Card } from '@/ui/Card';
import { CurveFigure } from '@/ui/chart/CurveFigure';
import { COLOR, CYCLE } from '@/ui/chart/palette';
import { figureText } from './scenarioText';
import { axesOf, chartTitle, nearestX, sortedPoints, valueAtX } from './series';

export function SeriesChart({ series }: { series: readonly ScenarioSeries[] }) {
  const [at, setAt] = useState<number>();
  const { ticks, levels } = axesOf(series);
  const end = ticks.at(-1) || 1;
  const [first] = series;
  if (!first) return null;
  const title = chartTitle(series);
  return (
    <Card title={title}>
      <CurveFigure
        label={title}
        lines={series.map((entry, index) => ({
          name: entry.name,
          color: entry.ideal ? COLOR.other : (CYCLE[index % CYCLE.length] ?? CYCLE[0]),
          points: sortedPoints(entry).map(([x, y]) => [x / end, y] as const),
          at: at === undefined ? undefined : valueAtX(entry, at),
          reference: entry.ideal,
          marked: !entry.ideal,
        }))}
        levels={levels}
        // Long units, such as "ops/s per node", are in the legend.
        levelLabels={axisLabels(first.unit === 'ms' ? 'ms' : 'count', levels)}
        ticks={ticks.map((x) => ({ position: x / end, text: format('count', x) }))}
        format={(value) => figureText(value, first.unit)}
        cross={at === undefined ? undefined : at / end}
        crosshairLabel={at === undefined ? '' : figureText(at, first.x_unit)}
        onPoint={(position) =>
          setAt(position === undefined ? undefined : nearestX(series, position * end))
        }
      />
    </Card>
  );
}
