/** Key figures of the cluster: throughput, latency, memory and connections; with flash databases, also the RAM hit ratio. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { bdbsQuery, useProvisioned } from '@/api/databases/bdbs';
import { format, formatExact, type Unit } from '@/lib/format';
import { Figure } from '@/live/Figure';
import { useTopic } from '@/live/LiveProvider';
import { useSeries } from '@/live/useSeries';
import { COLOR } from '@/ui/chart/palette';
import { Sparkline } from '@/ui/chart/Sparkline';
import classes from './overview.module.css';

interface Props {
  /** Reason for missing latency values, if known. */
  unavailableReason: string | undefined;
}

export function Totals({ unavailableReason }: Props) {
  const { data: bdbs } = useQuery(bdbsQuery);
  const provisioned = useProvisioned();
  const onFlash = bdbs?.some((bdb) => bdb.bigstore);
  const latencyReason = unavailableReason ?? 'No requests in the last few seconds';
  return (
    <div className={onFlash ? `${classes.totals} ${classes.six}` : classes.totals}>
      <Total title="Throughput" metric="total_req" unit="ops" color={COLOR.read} />
      <Total
        title="Average latency"
        metric="avg_latency"
        unit="latency"
        color={COLOR.average}
        emptyReason={latencyReason}
      />
      <Total
        title="P99 latency"
        metric="p99_latency"
        unit="latency"
        color={COLOR.p99}
        emptyReason={latencyReason}
      />
      <Total
        title="Memory"
        metric="used_memory"
        unit="bytes"
        color={COLOR.memory}
        note={
          provisioned !== undefined && (
            <span
              className={classes.beside}
              title={`Memory limit of all databases together: ${formatExact('bytes', provisioned)}`}
            >
              of {format('bytes', provisioned)}
            </span>
          )
        }
      />
      <Total title="Connections" metric="conns" unit="count" color={COLOR.conns} />
      {onFlash && <RamHit />}
    </div>
  );
}

/** RAM hit ratio over all flash databases. */
function RamHit() {
  useTopic('flash');
  return (
    <Total
      title="RAM hit ratio"
      topic="flash"
      uid="0"
      metric="ram_hit_ratio"
      unit="ratio"
      color={COLOR.ram}
      emptyReason="No key of a flash database was accessed in the last few seconds"
    />
  );
}

interface TotalProps {
  topic?: string;
  uid?: string;
  title: string;
  metric: string;
  unit: Unit;
  color: string;
  note?: ReactNode;
  /** Tooltip of the dash that is shown if there is no value. */
  emptyReason?: string;
}

function Total(props: TotalProps) {
  const {
    title,
    topic = 'cluster',
    uid = 'cluster',
    metric,
    unit,
    color,
    note,
    emptyReason,
  } = props;
  const source = useSeries({ topic, series: [{ uids: [uid], metric }] });
  return (
    <section className={classes.total} aria-label={title}>
      <h2>{title}</h2>
      <p className={classes.figure}>
        <Figure topic={topic} uid={uid} metric={metric} unit={unit} emptyReason={emptyReason} />{' '}
        {note}
      </p>
      <Sparkline source={source} color={color} label={`${title} in the time range`} />
    </section>
  );
}
