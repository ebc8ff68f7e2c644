/** The cluster in four numbers. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { bdbsQuery } from '@/api/bdbs';
import { format } from '@/lib/format';
import { LiveText } from '@/live/LiveText';
import { useSeries } from '@/live/useSeries';
import { COLOR } from '@/ui/chart/palette';
import { Sparkline } from '@/ui/chart/Sparkline';
import classes from './overview.module.css';

export function Totals() {
  const { data: bdbs } = useQuery(bdbsQuery);
  const provisioned = bdbs?.reduce((sum, bdb) => sum + bdb.memory_size, 0);
  return (
    <div className={classes.totals}>
      <Total title="Throughput" metric="total_req" color={COLOR.read}>
        <LiveText topic="cluster" uid="cluster" metric="total_req" unit="ops" />
      </Total>
      <section className={classes.total} aria-label="Latency">
        <h2>Latency</h2>
        <p
          className={classes.figure}
          title="Latency is measured at the endpoint proxy, which is not there yet"
        >
          –
        </p>
        <p className={classes.note}>Average and P99 await the endpoint proxy</p>
      </section>
      <Total
        title="Memory"
        metric="used_memory"
        color={COLOR.memory}
        note={`of ${format('bytes', provisioned)} provisioned`}
      >
        <LiveText topic="cluster" uid="cluster" metric="used_memory" unit="bytes" />
      </Total>
      <Total title="Connections" metric="conns" color={COLOR.conns}>
        <LiveText topic="cluster" uid="cluster" metric="conns" unit="count" />
      </Total>
    </div>
  );
}

interface TotalProps {
  title: string;
  metric: string;
  color: string;
  note?: string;
  children: ReactNode;
}

function Total({ title, metric, color, note, children }: TotalProps) {
  const source = useSeries({ topic: 'cluster', series: [{ uids: ['cluster'], metric }] });
  return (
    <section className={classes.total} aria-label={title}>
      <h2>{title}</h2>
      <p className={classes.figure}>
        {children} {note && <span className={classes.beside}>{note}</span>}
      </p>
      <Sparkline source={source} color={color} label={`${title} in the time range`} />
    </section>
  );
}
