/** Charts of one object: two large charts, and a grid of small charts that can replace the large ones. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { IconArrowUpLeft, IconArrowUpRight } from '@tabler/icons-react';
import { type ReactNode, useRef } from 'react';
import type { ChartMark } from '@/ui/chart/types';
import type { ChartDeclaration } from './declarations/charts';
import { type EmptyReasons, MetricChart } from './MetricChart';
import classes from './metrics.module.css';

export type Side = 'left' | 'right';
export type OnPin = (side: Side, id: string) => void;

export interface MetricSubject {
  topic: string;
  uid: string | readonly string[];
}

interface Props {
  charts: readonly ChartDeclaration[];
  subject: MetricSubject;
  /** Source of charts that are declared with `of: 'machines'`. */
  machines?: MetricSubject;
  large: readonly (string | undefined)[];
  onPin: OnPin;
  limits?: Readonly<Record<string, number | undefined>>;
  reasons?: EmptyReasons | undefined;
  marks: readonly ChartMark[];
  /** Content between the large charts and the grid. */
  between?: ReactNode;
}

export function Dashboard(props: Props) {
  const { charts, subject, machines, large, onPin, limits, reasons, marks, between } = props;
  const find = (id: string | undefined) => charts.find((candidate) => candidate.id === id);
  const top = large.flatMap((id, index) => find(id) ?? charts[index] ?? []);
  const pair = useRef<HTMLDivElement>(null);
  // Scroll to the enlarged chart.
  const pin: OnPin = (side, id) => {
    onPin(side, id);
    pair.current?.scrollIntoView({ block: 'nearest' });
  };
  const chart = (declaration: ChartDeclaration, height: number, isLarge: boolean) => (
    <MetricChart
      key={declaration.id}
      declaration={declaration}
      {...(declaration.source === 'machines' && machines ? machines : subject)}
      limits={limits}
      reasons={reasons}
      marks={marks}
      height={height}
      compact={!isLarge}
      actions={isLarge ? null : <Pin declaration={declaration} onPin={pin} />}
    />
  );
  return (
    <div className={classes.stack}>
      <div ref={pair} className={classes.pair}>
        {top.map((entry) => chart(entry, 230, true))}
      </div>
      {between}
      <div className={classes.grid}>
        {charts.filter((entry) => !top.includes(entry)).map((entry) => chart(entry, 120, false))}
      </div>
    </div>
  );
}

const SIDES = [
  { side: 'left', Icon: IconArrowUpLeft },
  { side: 'right', Icon: IconArrowUpRight },
] as const;

function Pin({ declaration, onPin }: { declaration: ChartDeclaration; onPin: OnPin }) {
  return SIDES.map(({ side, Icon }) => {
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
