/** Placement of one database: grid or heat map, slot bar and color scale. */
import { NativeSelect } from '@mantine/core';
import { useMemo, useRef } from 'react';
import type { ShardMove } from '@/api/cluster/actions';
import type { Resync } from '@/api/failures/eventSpans';
import type { Bdb, Node, Shard } from '@/api/types';
import { useTopic } from '@/live/LiveProvider';
import { EmptyState } from '@/ui/EmptyState';
import { StatusIcon } from '@/ui/Status';
import { colorMetric, colorMetrics, heatScale, topicOf } from './colors';
import { Heatmap } from './Heatmap';
import classes from './Placement.module.css';
import { PlacementGrid } from './PlacementGrid';
import { placementModel } from './placementModel';
import { SlotBar } from './SlotBar';
import { useArrowKeys } from './useArrowKeys';
import { useLiveCells } from './useLiveCells';
import { usePairHighlight } from './usePairHighlight';

/** With more shards than this, a heat map is shown instead of the grid. */
const GRID_MAX = 60;
const HEAT_SCALE = heatScale();

interface Props {
  bdb: Bdb;
  nodes: readonly Node[];
  shards: readonly Shard[];
  /** Running resyncs, by the uid of the replica. */
  resyncs: ReadonlyMap<string, Resync>;
  moves: readonly ShardMove[];
  colorMetricName: string | undefined;
  onColorMetric: (metric: string) => void;
  onOpen: (shard: string) => void;
}

export function Placement(props: Props) {
  const { bdb, nodes, shards, resyncs, moves, colorMetricName, onColorMetric, onOpen } = props;
  const root = useRef<HTMLDivElement>(null);
  const metric = colorMetric(colorMetricName, bdb.bigstore);
  useTopic(`shards:${bdb.uid}`);
  useTopic(topicOf(bdb.uid, metric));
  const model = useMemo(
    () => placementModel(nodes, shards, resyncs, moves, bdb.rack_aware === true),
    [nodes, shards, resyncs, moves, bdb.rack_aware],
  );
  const shardLimit = shards.length && bdb.memory_size > 0 ? bdb.memory_size / shards.length : 0;
  useLiveCells({ root, bdb: bdb.uid, metric, shardLimit, version: model });
  usePairHighlight(root);
  const onKeyDown = useArrowKeys();
  const dense = shards.length > GRID_MAX;

  if (!shards.length) {
    return (
      <EmptyState title={bdb.status === 'pending' ? 'Placing shards…' : 'No shards'}>
        <span>
          {bdb.status === 'creation-failed'
            ? 'The shards that were started have been removed.'
            : 'Shards appear here when they are placed on nodes.'}
        </span>
      </EmptyState>
    );
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the buttons inside
    <div
      ref={root}
      className={classes.root}
      style={HEAT_SCALE}
      onKeyDown={onKeyDown}
      onClick={(event) => {
        const target = event.target as Element;
        const shard = target.closest<HTMLElement>('[data-shard]')?.dataset.shard;
        if (shard) onOpen(shard);
      }}
    >
      {model.warnings.map(({ tone, text }) => (
        <p key={text} className={classes.warning} data-tone={tone}>
          <StatusIcon tone={tone} /> {text}
        </p>
      ))}
      <div className={classes.bar}>
        <label className={classes.choice} htmlFor="placement-colour">
          Color by
          <NativeSelect
            id="placement-colour"
            size="xs"
            value={metric.metric}
            onChange={(event) => onColorMetric(event.currentTarget.value)}
            data={colorMetrics(bdb.bigstore).map(({ metric: value, label }) => ({ value, label }))}
          />
        </label>
        <span className={classes.scale}>
          <span className="num">0</span>
          <span className={classes.ramp} aria-hidden />
          <span className="num" data-scale-top>
            –
          </span>
        </span>
        <span className={classes.key}>
          {dense ? (
            <>
              <i data-role="primary" /> primary <i data-role="replica" /> replica
            </>
          ) : (
            <>
              <b>P</b> primary <b>r</b> replica
            </>
          )}
        </span>
      </div>
      <SlotBar slots={model.slots} />
      {dense ? <Heatmap model={model} /> : <PlacementGrid model={model} />}
    </div>
  );
}
