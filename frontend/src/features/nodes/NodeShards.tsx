/** Table of the shards on a node. */

import { Link } from '@tanstack/react-router';
import { shardCoresText, useNode } from '@/api/cluster/nodes';
import { isShardDown, isShardStarting, useNodeShards } from '@/api/databases/shards';
import type { Bdb, Node, Shard } from '@/api/types';
import { formatSlots, parseSlots } from '@/lib/slots';
import { Bytes } from '@/ui/Bytes';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { Status, type Tone } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';

interface Props {
  nodeUid: number;
  bdbs: readonly Bdb[];
}

export function NodeShards({ nodeUid, bdbs }: Props) {
  const { data } = useNodeShards(nodeUid);
  const { data: node } = useNode(nodeUid);
  return (
    <DataTable
      label="Shards on this node"
      columns={[...columns(bdbs), ...(isPinned(node) ? [coresColumn(node)] : [])]}
      rows={data}
      rowKey={(shard) => shard.uid}
      initialSort={{ id: 'shard' }}
      empty={
        <EmptyState title="No shards on this node">New databases can use this node.</EmptyState>
      }
    />
  );
}

const isPinned = (node: Node | null | undefined) => node?.cpu_pinning_state?.state === 'active';

const coresColumn = (node: Node | null | undefined): Column<Shard> => ({
  id: 'cores',
  header: 'Cores',
  sort: (shard) => shardCoresText(node, shard.uid) ?? '',
  cell: (shard) => (
    <span className="num">
      {shardCoresText(node, shard.uid) ?? (
        <Dash reason="The agent has not reported the cores of this shard" />
      )}
    </span>
  ),
});

function columns(bdbs: readonly Bdb[]): Column<Shard>[] {
  const name = (shard: Shard) =>
    bdbs.find(({ uid }) => uid === shard.bdb_uid)?.name ?? `database ${shard.bdb_uid}`;
  return [
    {
      id: 'status',
      header: 'Status',
      sort: (shard) => shard.detailed_status,
      cell: (shard) => {
        const { tone, text } = stateOf(shard);
        return (
          <Status tone={tone} title={shard.detail ?? ''}>
            {text}
          </Status>
        );
      },
    },
    {
      id: 'shard',
      header: 'Shard',
      sort: (shard) => Number(shard.uid),
      cell: (shard) => (
        <Link
          to="/databases/$uid/shards"
          params={{ uid: String(shard.bdb_uid) }}
          search={{ shard: shard.uid }}
        >
          redis:{shard.uid}
        </Link>
      ),
    },
    { id: 'database', header: 'Database', sort: name, cell: name },
    {
      id: 'role',
      header: 'Role',
      sort: (shard) => shard.role,
      cell: (shard) => (shard.role === 'master' ? 'Primary' : 'Replica'),
    },
    {
      id: 'slots',
      header: 'Slots',
      sort: (shard) => parseSlots(shard.assigned_slots)[0]?.from ?? 0,
      cell: (shard) => <span className="num">{formatSlots(parseSlots(shard.assigned_slots))}</span>,
    },
    {
      id: 'port',
      header: 'Port',
      align: 'right',
      sort: (shard) => shard.port ?? 0,
      cell: (shard) => (
        <span className="num">{shard.port ?? <Dash reason="Not reported yet" />}</span>
      ),
    },
    {
      id: 'memory',
      header: 'Memory',
      align: 'right',
      sort: (shard) => shard.used_memory ?? 0,
      cell: (shard) => <Bytes value={shard.used_memory} />,
    },
  ];
}

function stateOf(shard: Shard): { tone: Tone; text: string } {
  if (isShardStarting(shard)) return { tone: 'progress', text: 'Starting' };
  if (isShardDown(shard)) return { tone: 'broken', text: 'Down' };
  if (shard.detailed_status === 'ok') return { tone: 'ok', text: 'OK' };
  return { tone: 'attention', text: shard.detailed_status };
}
