/** Diagram of a plan: replication pairs as rows, nodes as columns. Hidden from screen readers because text describes the same. */
import { Fragment } from 'react';
import { MoveArrow } from '@/ui/MoveArrow';
import classes from '../databases.module.css';
import type { DiagramCell, PlanDiagramModel as Picture } from './diagramModel';

export function PlanDiagram({ diagram: { nodes, rows } }: { diagram: Picture }) {
  const column = (node: number) => nodes.indexOf(node) + 2;
  return (
    <div className={classes.diagramScroll}>
      <div
        aria-hidden
        className={`num ${classes.diagram}`}
        style={{ gridTemplateColumns: `96px repeat(${nodes.length}, minmax(92px, 1fr))` }}
      >
        {nodes.map((node) => (
          <strong key={node} style={{ gridColumn: column(node) }}>
            node {node}
          </strong>
        ))}
        {rows.map(({ id, slots, cells, arrows }, index) => (
          <Fragment key={id}>
            <span className="dim" style={{ gridRow: index + 2, gridColumn: 1 }}>
              {slots}
            </span>
            {cells.map((cell) => (
              <PlanCell
                key={`${cell.node}-${cell.state}`}
                cell={cell}
                row={index + 2}
                column={column}
              />
            ))}
            {arrows.map(({ from, to }) => (
              <MoveArrow
                key={`${from}-${to}`}
                row={index + 2}
                from={column(from)}
                to={column(to)}
              />
            ))}
          </Fragment>
        ))}
      </div>
    </div>
  );
}

interface PlanCellProps {
  cell: DiagramCell;
  row: number;
  column: (node: number) => number;
}

function PlanCell({ cell: { node, name, role, newRole, state }, row, column }: PlanCellProps) {
  return (
    <span
      className={classes.planCell}
      data-state={state}
      data-new-role={newRole !== undefined || undefined}
      title={name}
      style={{ gridRow: row, gridColumn: column(node) }}
    >
      <b>{newRole ? `${role} → ${newRole}` : role}</b> {name ?? 'new'}
    </span>
  );
}
