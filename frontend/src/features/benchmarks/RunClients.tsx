/** Figures of each client (connection) of the load generators in the last repetition, slowest first. */
import { useQuery } from '@tanstack/react-query';
import { clientsQuery } from '@/api/benchmarks';
import { format, plural } from '@/lib/format';
import { Card } from '@/ui/Card';
import { DataTable } from '@/ui/table/DataTable';
import classes from './benchmarks.module.css';
import { figureValue } from './runText';

const LATENCIES = [
  ['average_ms', 'Average latency'],
  ['p50_ms', 'P50'],
  ['p99_ms', 'P99'],
  ['max_average_ms', 'Highest running average'],
  ['max_ms', 'Slowest'],
] as const;

const SHOWN = 20;

export function RunClients({ uid }: { uid: number }) {
  const part = useQuery(clientsQuery(uid)).data?.parts.at(-1);
  if (!part) return null;
  const clients = part.clients.toSorted((a, b) => (b.max_ms ?? 0) - (a.max_ms ?? 0));
  const hidden = Math.max(0, clients.length - SHOWN);
  return (
    <Card
      title="Clients with the slowest requests"
      flush
      headerEnd={
        hidden > 0 && (
          <span className={classes.dim}>{plural(hidden, 'more client')} in the JSON report</span>
        )
      }
    >
      <DataTable
        label="Clients"
        rows={clients.slice(0, SHOWN)}
        rowKey={({ node_uid, client }) => `${node_uid}.${client}`}
        columns={[
          {
            id: 'client',
            header: 'Client',
            cell: ({ node_uid, client }) => `node ${node_uid}, client ${client}`,
          },
          {
            id: 'ops',
            header: 'Operations',
            align: 'right',
            cell: ({ ops }) => format('count', ops),
          },
          ...LATENCIES.map(([name, header]) => ({
            id: name,
            header,
            align: 'right' as const,
            optional: name === 'p50_ms' || name === 'p99_ms',
            cell: (client: (typeof clients)[number]) => figureValue(name, client[name]),
          })),
        ]}
      />
    </Card>
  );
}
