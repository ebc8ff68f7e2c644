/** Heat map for hundreds of shards: one block of small cells per node. */
import { Fragment, memo, useLayoutEffect, useRef, useState } from 'react';
import { cellSize } from './cellSize';
import { NodeHeader } from './NodeHeader';
import classes from './Placement.module.css';
import type { Cell, PlacementModel, ReplicationPair, ZoneColumns } from './placementModel';

const HEIGHT_BUDGET = 440;

export const Heatmap = memo(function Heatmap({ model }: { model: PlacementModel }) {
  const root = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState(18);
  const blocks = model.nodes.map((node) => ({
    node,
    cells: cellsOf(model, node.uid),
    plannedCells: model.pairs.flatMap((pair) =>
      pair.plannedCells.filter((cell) => cell.node === node.uid),
    ),
  }));
  const maxCells = Math.max(
    ...blocks.map(({ cells, plannedCells }) => cells.length + plannedCells.length),
  );
  const first = blocks.find(({ cells }) => cells.length)?.cells[0];

  useLayoutEffect(() => {
    const element = root.current;
    if (!element) return;
    const measure = () => {
      const block = element.querySelector<HTMLElement>('[data-block]');
      const rows = Math.ceil(
        blocks.length / Math.max(1, Math.round(element.clientWidth / (block?.clientWidth || 1))),
      );
      setSize(cellSize(block?.clientWidth ?? 300, maxCells, HEIGHT_BUDGET / rows));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [maxCells, blocks.length]);

  return (
    <div
      ref={root}
      className={classes.blocks}
      style={{ '--cell': `${size}px` } as React.CSSProperties}
    >
      {blocks.map(({ node, cells, plannedCells }, index) => (
        <Fragment key={node.uid}>
          <ZoneHeading zones={model.zones} column={index} />
          <div className={classes.block}>
            <NodeHeader node={node} shards={cells.length} />
            <div className={classes.tiles} data-block>
              {cells.map(({ cell, pair }) => (
                <Tile key={cell.shard.uid} cell={cell} pair={pair} tabStop={cell === first?.cell} />
              ))}
              {plannedCells.map(({ uid }) => (
                <span
                  key={uid}
                  className={classes.plannedTile}
                  title={`redis:${uid} is being added here`}
                />
              ))}
            </div>
          </div>
        </Fragment>
      ))}
    </div>
  );
});

/** Heading above the first node of a zone. */
function ZoneHeading({ zones, column }: { zones: readonly ZoneColumns[]; column: number }) {
  const zone = zones.find(({ first }) => first === column);
  if (!zone) return null;
  return (
    <div className={`${classes.zone} ${classes.zoneHeading}`}>
      {zone.zone ? `Zone ${zone.zone}` : 'No zone'}
    </div>
  );
}

function cellsOf(model: PlacementModel, node: number): { cell: Cell; pair: ReplicationPair }[] {
  return model.pairs.flatMap((pair) =>
    pair.cells.filter((cell) => cell.node === node).map((cell) => ({ cell, pair })),
  );
}

function Tile({ cell, pair, tabStop }: { cell: Cell; pair: ReplicationPair; tabStop: boolean }) {
  const { shard, role, warnings, severity, movesTo } = cell;
  const movement =
    movesTo === null ? [] : [movesTo ? `Moving to node ${movesTo}` : 'Being removed'];
  const name = `redis:${shard.uid}, ${role} of slots ${pair.label}`;
  const label = [name, ...movement, ...warnings].join('\n');
  return (
    <button
      type="button"
      className={classes.tile}
      data-shard={shard.uid}
      data-pair={pair.id}
      data-role={role}
      data-severity={severity}
      data-moving={movesTo !== null || undefined}
      tabIndex={tabStop ? 0 : -1}
      title={label}
      aria-label={label}
    />
  );
}
