/** Small multiples with the same scale. A button shows more of them. */
import { Button } from '@mantine/core';
import { useMemo, useState } from 'react';
import { plural } from '@/lib/format';
import { useSeries } from '@/live/useSeries';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import classes from '../metrics.module.css';
import { type ComparedMetric, type ComparedObject, comparisonSeries } from './comparisonMetrics';
import { shareSource } from './sharedSource';
import { Tile } from './Tile';

const PAGE = 48;

interface Props {
  topic: string;
  metric: ComparedMetric;
  ranked: readonly ComparedObject[];
  /** Number of series of the topic. */
  topicSize: number;
}

export function Tiles({ topic, metric, ranked, topicSize }: Props) {
  const axis = useTimeAxis();
  const [limit, setLimit] = useState(PAGE);
  const visible = ranked.slice(0, limit);
  const source = useSeries({ topic, series: comparisonSeries(visible, metric), topicSize });
  const shared = useMemo(() => shareSource(source, () => axis.window()), [source, axis]);
  const remaining = Math.min(PAGE, ranked.length - limit);
  return (
    <>
      <div className={classes.tiles}>
        {visible.map((group, index) => (
          <Tile key={group.key} shared={shared} index={index} group={group} metric={metric} />
        ))}
      </div>
      {remaining > 0 && (
        <Button variant="default" onClick={() => setLimit(limit + PAGE)}>
          Show {remaining} more of {plural(ranked.length, 'tile')}
        </Button>
      )}
    </>
  );
}
