/** Additional charts of databases on flash: RAM hit ratio, distribution of values, and flash usage. */
import type { Bdb } from '@/api/types';
import { useTopic } from '@/live/LiveProvider';
import type { ChartMark } from '@/ui/chart/types';
import type { ChartDeclaration } from '../declarations/charts';
import { FLASH_CHARTS, FLASH_RATIOS } from '../declarations/flash';
import { MetricChart } from '../MetricChart';
import classes from '../metrics.module.css';
import { RamCurve } from './RamCurve';

interface Props {
  bdb: Bdb;
  marks: readonly ChartMark[];
}

/**
 * RAM hit ratios. They show whether the RAM limit is sufficient, and are displayed next to the
 * latency charts.
 */
export function FlashRatios({ bdb, marks }: Props) {
  return <div className={classes.pair}>{charts(FLASH_RATIOS, { bdb, marks }, 150)}</div>;
}

export function FlashCharts({ bdb, marks }: Props) {
  return (
    <section className={classes.stack} aria-labelledby="flash-charts">
      <h2 id="flash-charts" className={classes.sectionTitle}>
        Flash
      </h2>
      <div className={classes.grid}>{charts(FLASH_CHARTS, { bdb, marks }, 120)}</div>
      <RamCurve bdb={bdb} />
    </section>
  );
}

const charts = (all: readonly ChartDeclaration[], { bdb, marks }: Props, height: number) =>
  all.map((declaration) => (
    <FlashChart
      key={declaration.id}
      declaration={declaration}
      bdb={bdb}
      marks={marks}
      height={height}
    />
  ));

interface ChartProps extends Props {
  declaration: ChartDeclaration;
  height: number;
}

function FlashChart({ declaration, bdb, marks, height }: ChartProps) {
  useTopic('flash');
  return (
    <MetricChart
      declaration={declaration}
      topic="flash"
      uid={String(bdb.uid)}
      limits={{ ram: bdb.bigstore_ram_size, flash: bdb.memory_size - bdb.bigstore_ram_size }}
      marks={marks}
      height={height}
      compact={height < 150}
    />
  );
}
