/** What a database on flash has more: where its values are, and what that costs. */
import type { Bdb } from '@/api/types';
import { useTopic } from '@/live/LiveProvider';
import type { ChartMark } from '@/ui/chart/types';
import { FLASH_CHARTS } from './flash';
import { MetricChart } from './MetricChart';
import classes from './metrics.module.css';

const LARGE = 2;

export function FlashCharts({ bdb, marks }: { bdb: Bdb; marks: readonly ChartMark[] }) {
  useTopic('flash');
  const limits = { ram: bdb.bigstore_ram_size, flash: bdb.memory_size - bdb.bigstore_ram_size };
  const chart = (declaration: (typeof FLASH_CHARTS)[number], height: number) => (
    <MetricChart
      key={declaration.id}
      declaration={declaration}
      topic="flash"
      uid={String(bdb.uid)}
      limits={limits}
      marks={marks}
      height={height}
      compact={height < 150}
    />
  );
  return (
    <section className={classes.stack} aria-labelledby="flash-charts">
      <h2 id="flash-charts" className={classes.sectionTitle}>
        Flash
      </h2>
      <div className={classes.pair}>
        {FLASH_CHARTS.slice(0, LARGE).map((one) => chart(one, 150))}
      </div>
      <div className={classes.grid}>{FLASH_CHARTS.slice(LARGE).map((one) => chart(one, 120))}</div>
    </section>
  );
}
