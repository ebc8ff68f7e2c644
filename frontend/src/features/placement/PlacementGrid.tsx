/**
 * Grid for up to some dozens of shards, with one cell per shard. Each replication pair is a row with a line from primary to
 * replica. Without replicas, the shards of a node are stacked.
 */
import { memo } from 'react';
import { MoveArrow } from '@/ui/MoveArrow';
import { StatusIcon } from '@/ui/Status';
import { NodeHeader } from './NodeHeader';
import classes from './Placement.module.css';
import type { Cell, PlacementModel, ReplicationPair } from './placementModel';

export const PlacementGrid = memo(function PlacementGrid({ model }: { model: PlacementModel }) {
  const { nodes, pairs, zones } = model;
  const isSingle = pairs.every(
    ({ cells, plannedCells }) => cells.length + plannedCells.length === 1,
  );
  const columns = `repeat(${nodes.length}, minmax(var(--node-column), 1fr))`;
  const template = isSingle ? columns : `112px ${columns}`;
  const count = (uid: number) =>
    pairs.reduce((sum, { cells }) => sum + cells.filter(({ node }) => node === uid).length, 0);
  return (
    <div className={classes.scroll}>
      <div className={classes.grid} style={{ gridTemplateColumns: template }}>
        {zones.length > 0 && !isSingle && <div style={{ gridRow: 1, gridColumn: 1 }} />}
        {zones.map(({ zone, first, count: columnCount }) => (
          <div
            key={zone || '-'}
            className={classes.zone}
            style={{
              gridRow: 1,
              gridColumn: `${first + (isSingle ? 1 : 2)} / span ${columnCount}`,
            }}
          >
            {zone ? `Zone ${zone}` : 'No zone'}
          </div>
        ))}
        {!isSingle && <div className={classes.slotHeader}>Slots</div>}
        {nodes.map((node) => (
          <NodeHeader key={node.uid} node={node} shards={count(node.uid)} />
        ))}
        {isSingle
          ? nodes.map((node) => <Stack key={node.uid} node={node.uid} pairs={pairs} />)
          : pairs.map((pair, index) => (
              <PairRow
                key={pair.id}
                pair={pair}
                row={index + (zones.length ? 3 : 2)}
                model={model}
                first={index === 0}
              />
            ))}
      </div>
    </div>
  );
});

function Stack({ node, pairs }: { node: number; pairs: readonly ReplicationPair[] }) {
  return (
    <div className={classes.stack}>
      {pairs.map((pair, index) =>
        pair.cells
          .filter((cell) => cell.node === node)
          .map((cell) => (
            <ShardCell
              key={cell.shard.uid}
              cell={cell}
              pair={pair}
              tabStop={index === 0}
              slots={pair.label}
            />
          )),
      )}
    </div>
  );
}

interface RowProps {
  pair: ReplicationPair;
  row: number;
  model: PlacementModel;
  first: boolean;
}

function PairRow({ pair, row, model, first }: RowProps) {
  return (
    <>
      <div className={classes.slotLabel} style={{ gridRow: row }} data-pair={pair.id}>
        {pair.label}
      </div>
      {pair.first < pair.last && (
        <div
          className={classes.joint}
          style={{ gridRow: row, gridColumn: `${pair.first + 2} / ${pair.last + 3}` }}
          data-pair={pair.id}
          aria-hidden
        />
      )}
      {pair.moves.map(({ from, to }) => (
        <MoveArrow key={`${from}-${to}`} row={row} from={from + 2} to={to + 2} />
      ))}
      {model.nodes.map((node, column) => (
        <div
          key={node.uid}
          className={classes.place}
          style={{ gridRow: row, gridColumn: column + 2 }}
        >
          {pair.cells
            .filter((cell) => cell.node === node.uid)
            .map((cell) => (
              <ShardCell
                key={cell.shard.uid}
                cell={cell}
                pair={pair}
                tabStop={first && cell === pair.cells[0]}
              />
            ))}
          {pair.plannedCells
            .filter((planned) => planned.node === node.uid)
            .map(({ uid }) => (
              <div key={uid} className={classes.plannedCell} data-pair={pair.id}>
                redis:{uid} is being added here
              </div>
            ))}
        </div>
      ))}
    </>
  );
}

interface CellProps {
  cell: Cell;
  pair: ReplicationPair;
  tabStop: boolean;
  /** Slot ranges, if the row has no slot label. */
  slots?: string;
}

function ShardCell({ cell, pair, tabStop, slots }: CellProps) {
  const { shard, role, warnings, severity, resync, movesTo } = cell;
  const movement =
    movesTo === null ? [] : [movesTo ? `Moving to node ${movesTo}` : 'Being removed'];
  return (
    <button
      type="button"
      className={classes.cell}
      data-shard={shard.uid}
      data-pair={pair.id}
      data-severity={severity}
      data-moving={movesTo !== null || undefined}
      tabIndex={tabStop ? 0 : -1}
      title={[...movement, ...warnings].join('\n') || undefined}
    >
      <span className={classes.cellTop}>
        <b aria-hidden>{role === 'primary' ? 'P' : 'r'}</b>
        <span>redis:{shard.uid}</span>
        {slots && (
          <span className="dim" aria-hidden>
            {slots}
          </span>
        )}
        <span className="sr-only">
          {[
            `, ${role} of slots ${pair.label} on node ${shard.node_uid}`,
            ...movement,
            ...warnings,
          ].join('. ')}
        </span>
        {severity !== 'ok' && <StatusIcon tone={resync ? 'progress' : severity} size={13} />}
        {resync ? (
          <span className={`num ${classes.value}`}>
            {resync.phase} {Math.floor(resync.percent)}%
          </span>
        ) : (
          <span data-value className={`num ${classes.value}`}>
            –
          </span>
        )}
      </span>
      {resync ? (
        <span className={classes.memory}>
          <span className={classes.resync} style={{ width: `${resync.percent}%` }} />
        </span>
      ) : (
        <span className={classes.memory}>
          <span data-meter />
        </span>
      )}
    </button>
  );
}
