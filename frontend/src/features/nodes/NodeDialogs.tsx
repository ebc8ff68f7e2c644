/** The questions before a node is drained, filled again, relieved of its primaries or removed. */
import { Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  beginMaintenance,
  endMaintenance,
  handOver,
  nodeAddressesQuery,
  removeNode,
  snapshotsQuery,
} from '@/api/nodes';
import { useNodeShards } from '@/api/shards';
import type { Node } from '@/api/types';
import { plural } from '@/lib/format';
import { AddressNotice } from '@/ui/AddressNotice';
import { Ago } from '@/ui/Ago';
import { Ask } from '@/ui/Ask';
import { ConfirmByTyping } from '@/ui/ConfirmByTyping';
import { heldWords, removalWords } from './words';

interface Props {
  node: Node;
  onClose: () => void;
}

export function BeginMaintenance({ node, onClose }: Props) {
  const [evict, setEvict] = useState(true);
  const shards = useNodeShards(node.uid).data ?? [];
  const addresses = useQuery(nodeAddressesQuery(node.uid, 'maintenance_on')).data;
  return (
    <Ask
      title={`Put node ${node.uid} into maintenance?`}
      action="Begin maintenance"
      onConfirm={() => beginMaintenance(node.uid, { evict_ha_replica: evict })}
      onClose={onClose}
    >
      <span>
        {heldWords(node.uid, shards)} Its primaries hand over to their replicas on other nodes, and
        it gets no new shards. Where everything is now is remembered, so that it can come back.
      </span>
      <AddressNotice changes={addresses} />
      <Checkbox
        label="Move its replicas to other nodes"
        description="Where there is room. Without it they stay, which is quicker, and their pairs have one copy while the machine is off."
        checked={evict}
        onChange={(event) => setEvict(event.currentTarget.checked)}
      />
    </Ask>
  );
}

export function EndMaintenance({ node, onClose }: Props) {
  const [restore, setRestore] = useState(true);
  const { data } = useQuery(snapshotsQuery(node.uid));
  const snapshot = data?.find(({ kind }) => kind === 'maintenance');
  return (
    <Ask
      title={`End maintenance of node ${node.uid}?`}
      action="End maintenance"
      onConfirm={() => endMaintenance(node.uid, { skip_shards_restore: !restore })}
      onClose={onClose}
    >
      <span>
        The node gets shards again.
        {snapshot && (
          <>
            {' '}
            When maintenance began, <Ago time={snapshot.created_time} />, it held{' '}
            {plural(snapshot.shards, 'shard')}.
          </>
        )}
      </span>
      <Checkbox
        label="Bring its shards and primaries back"
        description="Restores the layout from before; otherwise nothing moves."
        checked={restore}
        onChange={(event) => setRestore(event.currentTarget.checked)}
      />
    </Ask>
  );
}

export function HandOver({ node, onClose }: Props) {
  const shards = useNodeShards(node.uid).data ?? [];
  const primaries = shards.filter(({ role }) => role === 'master').length;
  return (
    <Ask
      title={`Hand over the primaries of node ${node.uid}?`}
      action="Hand over"
      disabled={!primaries}
      onConfirm={() => handOver(node.uid)}
      onClose={onClose}
    >
      {primaries ? (
        <span>
          {plural(primaries, 'primary', 'primaries')} of this node hand over to their replicas on
          other nodes and become replicas themselves. Nothing is copied and nothing is lost; those
          without a replica in sync stay primaries.
        </span>
      ) : (
        <span>There is no primary on this node.</span>
      )}
    </Ask>
  );
}

export function RemoveNode({ node, onClose }: Props) {
  const shards = useNodeShards(node.uid).data ?? [];
  const addresses = useQuery(nodeAddressesQuery(node.uid, 'remove')).data;
  return (
    <ConfirmByTyping
      title={`Remove node ${node.uid}?`}
      warning={removalWords(node, shards)}
      name={`node ${node.uid}`}
      action="Remove node"
      onConfirm={() => removeNode(node.uid)}
      onClose={onClose}
    >
      <AddressNotice changes={addresses} />
    </ConfirmByTyping>
  );
}
