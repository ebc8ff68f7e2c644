/** Brings shards to where the placement policy wants them, after showing which would move. */
import { Alert, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { previewRebalance, rebalance, rebalanceAddresses } from '@/api/bdbs';
import { messageOf } from '@/api/http';
import { useBdbShards } from '@/api/shards';
import type { Bdb } from '@/api/types';
import { AddressNotice } from '@/ui/AddressNotice';
import { Ask } from '@/ui/Ask';
import { changesOf } from './blueprint';
import { planText } from './blueprintWords';
import { PlanView } from './PlanView';

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
  const useful = plan !== undefined && planText(changesOf(shards, plan)).lines.length > 0;
  return (
    <Ask
      title={`Rebalance ${bdb.name}`}
      action="Rebalance"
      size="lg"
      disabled={!useful}
      onConfirm={() => rebalance(bdb.uid, handoversOnly)}
      onClose={onClose}
    >
      <span>
        Placement is {bdb.shards_placement}:{' '}
        {bdb.shards_placement === 'sparse'
          ? 'shards are spread over as many nodes as possible.'
          : 'shards are packed on as few nodes as possible.'}{' '}
        The database goes on serving meanwhile.
      </span>
      <Checkbox
        label="Only switch roles, move no data"
        checked={handoversOnly}
        onChange={(event) => setHandoversOnly(event.currentTarget.checked)}
      />
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      <AddressNotice changes={addresses.data} />
      {!plan && !error && <span className="dim">Asking the console for the plan…</span>}
      {plan && (
        <PlanView
          shards={shards}
          blueprint={plan}
          nothing="Nothing to do: every shard is where it should be."
        />
      )}
    </Ask>
  );
}
