/** Latency and load of an endpoint, for all of its proxies or one of them. */
import { SegmentedControl } from '@mantine/core';
import { useState } from 'react';
import { CONNECTIONS, ERRORS, THROUGHPUT } from './declarations/charts';
import { LATENCIES, PERCENTILES } from './declarations/latency';
import { LatencyHeat } from './LatencyHeat';
import { type EmptyReasons, MetricChart } from './MetricChart';
import { useEventMarks } from './marks';
import classes from './metrics.module.css';

interface Props {
  bdb: number;
  /** Endpoint uid: "<database>:1". */
  endpoint: string;
  /** Nodes whose proxies serve the endpoint. */
  nodes: readonly number[];
  reasons: EmptyReasons | undefined;
}

const ALL = 'all';
const LARGE = [PERCENTILES, ...LATENCIES.slice(1)];
const SMALL = [THROUGHPUT, CONNECTIONS, ERRORS];

export function EndpointCharts({ bdb, endpoint, nodes, reasons }: Props) {
  const marks = useEventMarks({ bdb });
  const [chosen, choose] = useState(ALL);
  const selected = nodes.filter((node) => chosen === ALL || String(node) === chosen);
  const proxies = { topic: 'endpoints', uid: selected.map((node) => `${endpoint}:${node}`) };
  // Percentiles of several proxies cannot be combined. The database provides percentiles of all requests.
  const measured = chosen === ALL ? { topic: 'bdbs', uid: String(bdb) } : proxies;
  return (
    <div className={classes.stack}>
      {nodes.length > 1 && (
        <SegmentedControl
          className={classes.switch}
          aria-label="Proxy"
          value={selected.length ? chosen : ALL}
          onChange={choose}
          data={[
            { value: ALL, label: 'All proxies' },
            ...nodes.map((node) => ({ value: String(node), label: `node ${node}` })),
          ]}
        />
      )}
      <div className={classes.pair}>
        {LARGE.map((declaration) => (
          <MetricChart
            key={declaration.id}
            declaration={declaration}
            {...measured}
            reasons={reasons}
            marks={marks}
            height={150}
          />
        ))}
      </div>
      <LatencyHeat
        target={chosen === ALL ? `bdb=${bdb}` : `endpoint=${endpoint}:${chosen}`}
        marks={marks}
        reason={reasons?.latency}
      />
      <div className={classes.grid}>
        {SMALL.map((declaration) => (
          <MetricChart
            key={declaration.id}
            declaration={declaration}
            {...proxies}
            marks={marks}
            height={110}
            compact
          />
        ))}
      </div>
    </div>
  );
}
