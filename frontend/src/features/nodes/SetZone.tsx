/** Dialog that sets the zone of a node. */
import { useState } from 'react';
import { updateNode, zoneError } from '@/api/cluster/nodes';
import type { Node } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { ZoneInput } from './ZoneInput';

export function SetZone({ node, onClose }: { node: Node; onClose: () => void }) {
  const [zone, setZone] = useState(node.rack_id);
  const [second, setSecond] = useState(node.second_rack_id);
  return (
    <SubmitDialog
      title={`Zone of node ${node.uid}`}
      action="Set zone"
      disabled={[zone, second].some(zoneError)}
      onConfirm={() => updateNode(node.uid, { rack_id: zone, second_rack_id: second })}
      onClose={onClose}
    >
      <span>
        No shards move. If copies of a rack-aware database are in one zone afterwards, an alarm is
        raised until you rebalance the database.
      </span>
      <ZoneInput
        label="Zone"
        description="The rack or availability zone of the machine. If empty, the node has no zone and gets no shards of rack-aware databases."
        zone={zone}
        onChange={setZone}
      />
      <ZoneInput
        label="Second zone"
        description="Set it if the machine is also lost when another rack or zone fails."
        zone={second}
        onChange={setSecond}
      />
    </SubmitDialog>
  );
}
