/** Dialogs to start and end maintenance of a node, switch over its primaries, and remove it. */
import { Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  endMaintenance,
  nodeAddressesQuery,
  removeNode,
  snapshotsQuery,
  startMaintenance,
  switchOverNode,
} from '@/api/cluster/nodes';
import { useNodeShards } from '@/api/databases/shards';
import type { Node } from '@/api/types';
import { plural } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { AddressNotice } from '@/ui/forms/AddressNotice';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { nodeRemovalText, nodeShardsText } from './nodeText';

interface Props {
  node: Node;
  onClose: () => void;
}

export function StartMaintenance({ node, onClose }: Props) {
  const [evict, setEvict] = useState(true);
  const shards = useNodeShards(node.uid).data;
  const addresses = useQuery(nodeAddressesQuery(node.uid, 'maintenance_on')).data;
  return (
    <SubmitDialog
      title={`Put node ${node.uid} into maintenance?`}
      action="Start maintenance"
      onConfirm={() => startMaintenance(node.uid, { evict_ha_replica: evict })}
      onClose={onClose}
    >
      <span>
        {nodeShardsText(node.uid, shards)} Its primaries switch over to replicas on other nodes, and
        the node accepts no new shards. The current placement is saved, so that it can be restored.
      </span>
      <AddressNotice changes={addresses} />
      <Checkbox
        label="Move replicas to other nodes"
        description="Requires free memory on other nodes. If replicas stay, maintenance starts faster, but their shards have only one copy while the machine is off."
        checked={evict}
        onChange={(event) => setEvict(event.currentTarget.checked)}
      />
    </SubmitDialog>
  );
}

export function EndMaintenance({ node, onClose }: Props) {
  const [restore, setRestore] = useState(true);
  const { data } = useQuery(snapshotsQuery(node.uid));
  const snapshot = data?.find(({ kind }) => kind === 'maintenance');
  return (
    <SubmitDialog
      title={`End maintenance of node ${node.uid}?`}
      action="End maintenance"
      onConfirm={() => endMaintenance(node.uid, { skip_shards_restore: !restore })}
      onClose={onClose}
    >
      <span>
        The node accepts shards again.
        {snapshot && (
          <>
            {' '}
            When maintenance started, <Ago time={snapshot.created_time} />, it held{' '}
            {plural(snapshot.shards, 'shard')}.
          </>
        )}
      </span>
      <Checkbox
        label="Restore shards and primaries"
        description="Restores the placement from before the maintenance. Otherwise, no shards move."
        checked={restore}
        onChange={(event) => setRestore(event.currentTarget.checked)}
      />
    </SubmitDialog>
  );
}

export function SwitchOver({ node, onClose }: Props) {
  const shards = useNodeShards(node.uid).data;
  const primaries = shards?.filter(({ role }) => role === 'master').length;
  return (
    <SubmitDialog
      title={`Switch over the primaries of node ${node.uid}?`}
      action="Switch over"
      disabled={!primaries}
      onConfirm={() => switchOverNode(node.uid)}
      onClose={onClose}
    >
      {primaries ? (
        <span>
          {plural(primaries, 'primary', 'primaries')} of this node switch over to their replicas on
          other nodes and become replicas. No data is copied or lost. Primaries without a replica in
          sync do not switch over.
        </span>
      ) : (
        <span>{shards ? 'This node has no primaries.' : nodeShardsText(node.uid, shards)}</span>
      )}
    </SubmitDialog>
  );
}

export function RemoveNode({ node, onClose }: Props) {
  const shards = useNodeShards(node.uid).data;
  const addresses = useQuery(nodeAddressesQuery(node.uid, 'remove')).data;
  return (
    <ConfirmByTyping
      title={`Remove node ${node.uid}?`}
      warning={nodeRemovalText(node, shards)}
      name={`node ${node.uid}`}
      action="Remove node"
      onConfirm={() => removeNode(node.uid)}
      onClose={onClose}
    >
      <AddressNotice changes={addresses} />
    </ConfirmByTyping>
  );
}
