/** Placement plan: summary, diagram, changes, and the number of shards per node before and after. */
import type { BlueprintPair, Shard } from '@/api/types';
import classes from '../databases.module.css';
import { diagramOf } from './diagramModel';
import { PlanDiagram } from './PlanDiagram';
import { countsByNode, type NodeCounts, pairChanges } from './placementDiff';
import { planText } from './placementDiffText';

interface Props {
  shards: readonly Shard[];
  blueprint: readonly BlueprintPair[];
  /** Text if the plan changes nothing. */
  emptyText: string;
}

export function PlanView({ shards, blueprint, emptyText }: Props) {
  const changes = pairChanges(shards, blueprint);
  const { summary, lines } = planText(changes);
  const diagram = diagramOf(changes);
  if (!lines.length) return <span>{emptyText}</span>;
  return (
    <>
      <strong>{summary}</strong>
      {diagram && <PlanDiagram diagram={diagram} />}
      <ul className={`num ${classes.planLines}`}>
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <table className={`num ${classes.planNodes}`}>
        <caption className="sr-only">Primaries and replicas of this database by node</caption>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Primaries</th>
            <th scope="col">Replicas</th>
          </tr>
        </thead>
        <tbody>
          {countsByNode(changes).map((counts) => (
            <tr key={counts.node}>
              <th scope="row">node {counts.node}</th>
              <td>{change(counts, 'primaries')}</td>
              <td>{change(counts, 'replicas')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function change({ before, after }: NodeCounts, of: 'primaries' | 'replicas'): string {
  return before[of] === after[of] ? String(after[of]) : `${before[of]} → ${after[of]}`;
}
