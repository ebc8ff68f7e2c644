/** Shards tab: the placement of all shards, and details of one shard. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { eventsQuery } from '@/api/alerting/events';
import { actionsQuery, openMoves } from '@/api/cluster/actions';
import { nodesQuery } from '@/api/cluster/nodes';
import { isShardDown, promotableReplicas, useBdbShards } from '@/api/databases/shards';
import { openResyncs } from '@/api/failures/eventSpans';
import type { Shard } from '@/api/types';
import { ShardPanelCharts } from '@/features/metrics/ShardPanelCharts';
import { HotSlots } from '@/features/placement/HotSlots';
import { Placement } from '@/features/placement/Placement';
import { ShardPanel } from '@/features/placement/ShardPanel';
import { PageSkeleton } from '@/ui/Skeletons';
import { useTabBdb } from './page';

export function DatabaseShardsTab() {
  const bdb = useTabBdb();
  const search = useSearch({ from: '/shell/databases/$uid/shards' });
  const navigate = useNavigate({ from: '/databases/$uid/shards' });
  const { data: nodes } = useQuery(nodesQuery);
  const { data: shards } = useBdbShards(bdb?.uid ?? 0);
  const { data: events } = useQuery(eventsQuery);
  const resyncs = useMemo(() => openResyncs(events ?? []), [events]);
  const { data: actions } = useQuery(actionsQuery);
  const uid = bdb?.uid ?? 0;
  const moves = useMemo(() => openMoves(actions ?? [], uid), [actions, uid]);
  if (!bdb || !nodes || !shards) return <PageSkeleton />;
  const open = (shard: string | undefined) =>
    navigate({ search: (now) => ({ ...now, shard }), replace: true });
  const chosen = shards.find(({ uid }) => uid === search.shard);
  const limit = shards.length && bdb.memory_size ? bdb.memory_size / shards.length : undefined;
  return (
    <>
      <Placement
        bdb={bdb}
        nodes={nodes}
        shards={shards}
        resyncs={resyncs}
        moves={moves}
        colorMetricName={search.colour}
        onColorMetric={(colour) =>
          navigate({ search: (now) => ({ ...now, colour }), replace: true })
        }
        onOpen={open}
      />
      {bdb.sharding && shards.length > 0 && <HotSlots bdb={bdb} />}
      {chosen && (
        <ShardPanel
          shard={chosen}
          onFlash={bdb.bigstore}
          replicas={promotableReplicas(chosen, shards)}
          isOnlyCopy={isOnlyCopy(chosen, shards)}
          onClose={() => open(undefined)}
        >
          <ShardPanelCharts shard={chosen} memoryLimit={limit} />
        </ShardPanel>
      )}
    </>
  );
}

/** Return whether all shards of the replication pair are down. */
const isOnlyCopy = ({ pair }: Shard, shards: readonly Shard[]): boolean =>
  shards.every((shard) => shard.pair !== pair || isShardDown(shard));
