/** Table of all nodes with their current load. */

import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { isInZone, nodesQuery, zonesOf } from '@/api/cluster/nodes';
import type { Node } from '@/api/types';
import { Figure } from '@/live/Figure';
import { NodeCpu } from '@/live/NodeCpu';
import { Bytes } from '@/ui/Bytes';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { LastSeen } from './LastSeen';
import classes from './nodes.module.css';
import { StateText } from './StateText';
import { nodeState } from './status';

const COLUMNS: readonly Column<Node>[] = [
  {
    id: 'status',
    header: 'Status',
    sort: (node) => nodeState(node).text,
    cell: (node) => (
      <Status tone={nodeState(node).tone}>
        <StateText node={node} />
      </Status>
    ),
  },
  {
    id: 'node',
    header: 'Node',
    sort: (node) => node.uid,
    cell: (node) => (
      <Link to="/nodes/$uid" params={{ uid: String(node.uid) }}>
        node {node.uid}
      </Link>
    ),
  },
  {
    id: 'addr',
    header: 'Address',
    sort: (node) => node.addr,
    cell: (node) => <code>{node.addr}</code>,
  },
  {
    id: 'host',
    header: 'Host',
    optional: true,
    cell: (node) => node.hostname || <Dash reason="The agent has not reported it" />,
  },
  {
    id: 'zone',
    header: 'Zone',
    sort: (node) => node.rack_id,
    cell: (node) => node.rack_id || <Dash reason="The node has no zone" />,
  },
  {
    id: 'shards',
    header: 'Shards',
    align: 'right',
    sort: (node) => node.shard_count ?? Number.NaN,
    cell: (node) =>
      node.shard_count === undefined ? (
        <Dash reason="The console has not reported it" />
      ) : (
        <span className="num">{node.shard_count}</span>
      ),
  },
  {
    id: 'cpu',
    header: 'CPU',
    align: 'right',
    width: 90,
    cell: (node) => <NodeCpu node={node.uid} />,
  },
  {
    id: 'memory',
    header: 'Used by shards',
    align: 'right',
    width: 130,
    cell: (node) => <Figure topic="nodes" uid={node.uid} metric="used_memory" unit="bytes" />,
  },
  {
    id: 'total',
    header: 'Memory',
    align: 'right',
    sort: (node) => node.total_memory ?? 0,
    cell: (node) => <Bytes value={node.total_memory} />,
  },
  {
    id: 'ops',
    header: 'Throughput',
    align: 'right',
    width: 120,
    cell: (node) => <Figure topic="nodes" uid={node.uid} metric="total_req" unit="ops" />,
  },
  {
    id: 'engine',
    header: 'Engine',
    optional: true,
    cell: (node) =>
      node.engine_version || <Dash reason="valkey-server is not installed on this node" />,
  },
  {
    id: 'agent',
    header: 'Agent',
    optional: true,
    cell: (node) => node.agent_version || <Dash reason="The agent has not reported it" />,
  },
  {
    id: 'seen',
    header: 'Last seen',
    optional: true,
    cell: (node) => <LastSeen node={node} />,
  },
];

export function NodeTable({ empty }: { empty: ReactNode }) {
  const { data } = useQuery(nodesQuery);
  const navigate = useNavigate();
  const [chosen, setChosen] = useState('');
  const zones = zonesOf(data ?? []);
  const zone = zones.includes(chosen) ? chosen : '';
  const table = (
    <DataTable
      label="Nodes"
      // Most clusters have no zones.
      columns={zones.length ? COLUMNS : COLUMNS.filter(({ id }) => id !== 'zone')}
      rows={zone ? data?.filter((node) => isInZone(node, zone)) : data}
      rowKey={(node) => node.uid}
      initialSort={{ id: 'node' }}
      onOpen={(node) => navigate({ to: '/nodes/$uid', params: { uid: String(node.uid) } })}
      empty={empty}
    />
  );
  if (!zones.length) return table;
  return (
    <>
      <div className={classes.filters}>
        <NativeSelect
          size="xs"
          aria-label="Filter by zone"
          value={zone}
          onChange={(event) => setChosen(event.currentTarget.value)}
          data={[
            { value: '', label: 'All zones' },
            ...zones.map((each) => ({ value: each, label: `Zone ${each}` })),
          ]}
        />
      </div>
      {table}
    </>
  );
}
