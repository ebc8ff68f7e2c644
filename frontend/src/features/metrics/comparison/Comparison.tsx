/** One metric of many objects: small multiples with outliers first, or one chart with the highest values. */
import { NativeSelect, SegmentedControl } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ChartMark } from '@/ui/chart/types';
import classes from '../metrics.module.css';
import type { ComparedMetric, ComparedObject } from './comparisonMetrics';
import { Tiles } from './Tiles';
import { TopChart } from './TopChart';
import { useRanking } from './useRanking';

export type View = 'tiles' | 'top';

interface Props {
  topic: string;
  groups: readonly ComparedObject[];
  metrics: readonly ComparedMetric[];
  metric: string | undefined;
  view: View;
  /** Number of series of the topic. */
  topicSize: number;
  marks: readonly ChartMark[];
  onChange: (change: { metric?: string; view?: View }) => void;
  controls?: ReactNode;
}

export function Comparison(props: Props) {
  const { topic, groups, metrics, metric, view, topicSize, marks, onChange, controls } = props;
  const chosen = metrics.find((entry) => entry.metric === metric) ?? metrics[0];
  const by = view === 'top' ? 'value' : 'outlier';
  const ranked = useRanking({ topic, groups, metric: chosen, topicSize, by });
  if (!chosen) return null;
  return (
    <div className={classes.stack}>
      <div className={classes.bar}>
        <NativeSelect
          size="xs"
          aria-label="Metric"
          value={chosen.metric}
          onChange={(event) => onChange({ metric: event.currentTarget.value })}
          data={metrics.map(({ metric: value, title: label }) => ({ value, label }))}
        />
        <SegmentedControl
          aria-label="Layout"
          value={view}
          onChange={(value) => onChange({ view: value as View })}
          data={[
            { value: 'tiles', label: 'Small multiples' },
            { value: 'top', label: 'One chart' },
          ]}
        />
        {controls}
        <span className="dim">
          {view === 'top' ? 'Highest first' : 'Farthest from the median first'}
        </span>
      </div>
      {view === 'top' ? (
        <TopChart
          topic={topic}
          metric={chosen}
          ranked={ranked}
          topicSize={topicSize}
          marks={marks}
        />
      ) : (
        <Tiles topic={topic} metric={chosen} ranked={ranked} topicSize={topicSize} />
      )}
    </div>
  );
}
