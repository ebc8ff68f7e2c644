/** Table of the proxies of one endpoint, with their state and live load. */
import { ActionIcon } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import type { Endpoint, EndpointProxy } from '@/api/types';
import type { Unit } from '@/lib/format';
import { Figure } from '@/live/Figure';
import { CopyInline } from '@/ui/Copy';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { hostPort } from './connectionSnippets';
import classes from './endpoint.module.css';
import { PROXY_STATES } from './endpointText';
import { ThreadsDialog } from './ThreadsDialog';

export function ProxyTable({ endpoint }: { endpoint: Endpoint }) {
  const [edited, edit] = useState<number>();
  const may = usePermission('administer');
  return (
    <>
      <DataTable
        label="Proxies"
        columns={columns(endpoint, may ? edit : undefined)}
        rows={endpoint.proxies}
        rowKey={({ uid }) => uid}
        initialSort={{ id: 'node' }}
        empty={
          <EmptyState title="No node serves this endpoint">
            <span>
              The proxy policy of the database selects the nodes. With “One on every node with
              primaries”, a node starts to serve the endpoint when it gets a primary.
            </span>
          </EmptyState>
        }
      />
      {edited !== undefined && <ThreadsDialog node={edited} onClose={() => edit(undefined)} />}
    </>
  );
}

function columns(
  { uid, port }: Endpoint,
  edit: ((node: number) => void) | undefined,
): Column<EndpointProxy>[] {
  const live = (metric: string, unit: Unit, emptyReason?: string) => (proxy: EndpointProxy) => (
    <Figure
      topic="endpoints"
      uid={`${uid}:${proxy.uid}`}
      metric={metric}
      unit={unit}
      emptyReason={emptyReason}
    />
  );
  return [
    {
      id: 'status',
      header: 'Status',
      sort: ({ status }) => status,
      cell: ({ status, detail }) => {
        const { tone, text } = PROXY_STATES[status];
        return (
          <>
            <Status tone={tone}>{text}</Status>
            {detail && <div className={classes.detail}>{detail}</div>}
          </>
        );
      },
    },
    {
      id: 'node',
      header: 'Node',
      sort: (proxy) => proxy.uid,
      cell: (proxy) => (
        <Link to="/nodes/$uid" params={{ uid: String(proxy.uid) }}>
          node {proxy.uid}
        </Link>
      ),
    },
    {
      id: 'address',
      header: 'Address',
      cell: ({ address }) => (
        <CopyInline text={hostPort({ host: address, port })} label="Copy address" />
      ),
    },
    { id: 'conns', header: 'Connections', align: 'right', cell: live('conns', 'count') },
    {
      id: 'ops',
      header: 'Throughput',
      align: 'right',
      width: 120,
      cell: live('total_req', 'ops'),
    },
    {
      id: 'p99',
      header: 'P99',
      align: 'right',
      width: 90,
      cell: live('p99_latency', 'latency', 'No requests in the last few seconds'),
    },
    {
      id: 'threads',
      header: 'Threads',
      align: 'right',
      sort: ({ threads }) => threads ?? 0,
      cell: (proxy) => (
        <span className={classes.threads}>
          <span className="num">{proxy.threads ?? <Dash reason="Not reported yet" />}</span>
          <ActionIcon
            variant="subtle"
            color="gray"
            size="sm"
            aria-label={`Threads of node ${proxy.uid}`}
            title={edit ? undefined : ROLE_DENIED_TEXT}
            disabled={!edit}
            onClick={() => edit?.(proxy.uid)}
          >
            <IconPencil size={14} />
          </ActionIcon>
        </span>
      ),
    },
  ];
}
