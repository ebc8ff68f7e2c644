/** Dialog that rebalances a database according to its placement policy. It shows the plan first. */
import { Alert, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { previewRebalance, rebalance, rebalanceAddresses } from '@/api/databases/bdbs';
import { useBdbShards } from '@/api/databases/shards';
import { messageOf } from '@/api/http';
import type { Bdb } from '@/api/types';
import { AddressNotice } from '@/ui/forms/AddressNotice';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PlanView } from './PlanView';
import { pairChanges } from './placementDiff';
import { planText } from './placementDiffText';

export function RebalanceDialog({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const [handoversOnly, setHandoversOnly] = useState(false);
  const shards = useBdbShards(bdb.uid).data ?? [];
  const { data: plan, error } = useQuery({
    queryKey: ['rebalance', bdb.uid, handoversOnly],
    queryFn: ({ signal }) => previewRebalance(bdb.uid, handoversOnly, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  const addresses = useQuery({
    queryKey: ['rebalance', bdb.uid, handoversOnly, 'addresses'],
    queryFn: rebalanceAddresses(bdb.uid, handoversOnly),
    gcTime: 0,
    staleTime: 0,
  });
  const hasChanges = plan !== undefined && planText(pairChanges(shards, plan)).lines.length > 0;
  return (
    <SubmitDialog
      title={`Rebalance ${bdb.name}`}
      action="Rebalance"
      size="lg"
      disabled={!hasChanges}
      onConfirm={() => rebalance(bdb.uid, handoversOnly)}
      onClose={onClose}
    >
      <span>
        Placement is {bdb.shards_placement}:{' '}
        {bdb.shards_placement === 'sparse'
          ? 'shards are spread over as many nodes as possible.'
          : 'shards are placed on as few nodes as possible.'}{' '}
        The database continues to serve requests.
      </span>
      <Checkbox
        label="Only switch roles, without moving data"
        checked={handoversOnly}
        onChange={(event) => setHandoversOnly(event.currentTarget.checked)}
      />
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      <AddressNotice changes={addresses.data} />
      {!plan && !error && <span className="dim">Requesting the plan…</span>}
      {plan && (
        <PlanView
          shards={shards}
          blueprint={plan}
          emptyText="Nothing to do: all shards are already placed according to the policy."
        />
      )}
    </SubmitDialog>
  );
}
