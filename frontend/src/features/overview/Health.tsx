/** How the cluster is, in one sentence; what is wrong, in one line each. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bdbsQuery } from '@/api/bdbs';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';
import { Elapsed } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import { type Trouble, wellSentence } from './health';
import classes from './overview.module.css';

export function Health({ troubles }: { troubles: readonly Trouble[] }) {
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(bdbsQuery).data;
  if (!nodes || !shards || !bdbs) return <h1 className={classes.health}>Looking …</h1>;
  const [first, ...rest] = troubles;
  if (!first) {
    return (
      <h1 className={classes.health}>
        <StatusIcon tone={nodes.length ? 'ok' : 'unknown'} size={20} />
        {wellSentence(nodes, shards)}
      </h1>
    );
  }
  return (
    <div>
      <h1 className={classes.health}>
        <StatusIcon tone={first.tone} size={20} />
        <span>
          <Link {...first.link}>{first.text}</Link>
          {first.since !== undefined && (
            <>
              {' for '}
              <Elapsed since={first.since} />
            </>
          )}
          {first.rest?.map((part) => `; ${part}`)}
        </span>
      </h1>
      {rest.length > 0 && (
        <ul className={classes.troubles}>
          {rest.map((trouble) => (
            <li key={trouble.text}>
              <StatusIcon tone={trouble.tone} />
              <Link {...trouble.link}>{trouble.text}</Link>
              {trouble.rest?.join('; ')}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
