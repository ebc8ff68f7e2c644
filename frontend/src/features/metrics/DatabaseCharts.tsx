/** Two large charts, and the rest in a grid from which any can be sent up. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { IconArrowUpLeft, IconArrowUpRight } from '@tabler/icons-react';
import type { Bdb } from '@/api/types';
import { type ChartDeclaration, DATABASE_CHARTS } from './dashboards';
import { LatencyCard } from './LatencyCard';
import { MetricChart } from './MetricChart';
import { useMarks } from './marks';
import classes from './metrics.module.css';

export type Side = 'left' | 'right';

interface Props {
  bdb: Bdb;
  left: string | undefined;
  right: string | undefined;
  onPin: (side: Side, id: string) => void;
}

export function DatabaseCharts({ bdb, left = 'throughput', right = 'latency', onPin }: Props) {
  const marks = useMarks({ bdb: bdb.uid });
  const large = [left, right];
  const small = ['throughput', 'latency', ...DATABASE_CHARTS.slice(1).map(({ id }) => id)].filter(
    (id) => !large.includes(id),
  );
  const chart = (id: string, height: number, isLarge: boolean) => {
    if (id === 'latency') return <LatencyCard key={id} />;
    const declaration = DATABASE_CHARTS.find((candidate) => candidate.id === id);
    if (!declaration) return null;
    return (
      <MetricChart
        key={id}
        declaration={declaration}
        topic="bdbs"
        uid={String(bdb.uid)}
        limits={{ memory_size: bdb.memory_size }}
        marks={marks}
        height={height}
        actions={isLarge ? null : <Pin declaration={declaration} onPin={onPin} />}
      />
    );
  };
  return (
    <div className={classes.stack}>
      <div className={classes.pair}>{large.map((id) => chart(id, 230, true))}</div>
      <div className={classes.grid}>{small.map((id) => chart(id, 130, false))}</div>
    </div>
  );
}

function Pin({ declaration, onPin }: { declaration: ChartDeclaration; onPin: Props['onPin'] }) {
  const sides = [
    { side: 'left', Icon: IconArrowUpLeft },
    { side: 'right', Icon: IconArrowUpRight },
  ] as const;
  return sides.map(({ side, Icon }) => {
    const label = `Show ${declaration.title} large on the ${side}`;
    return (
      <Tooltip key={side} label={label}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={label}
          onClick={() => onPin(side, declaration.id)}
        >
          <Icon size={14} />
        </ActionIcon>
      </Tooltip>
    );
  });
}
