/** How the cluster is, in one sentence; what is wrong, in one line each. "Well" is said only of what is known now. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { bdbsQuery } from '@/api/bdbs';
import { healthQuery } from '@/api/health';
import { messageOf } from '@/api/http';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';
import { Elapsed } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import { type Trouble, wellSentence } from './health';
import classes from './overview.module.css';

const BEFORE = {
  lost: 'When the connection was lost: ',
  late: 'When the newest sample was taken: ',
  // A moment after the page was opened; not yet known to be so.
  waiting: '',
} as const;

interface Props {
  troubles: readonly Trouble[];
  /** The stream is lost, brings samples late, or none yet: what is shown was so then. */
  stale: keyof typeof BEFORE | null;
}

export function Health({ troubles, stale }: Props) {
  const [nodes, shards] = [useQuery(nodesQuery), useQuery(shardsQuery)];
  const [bdbs, health] = [useQuery(bdbsQuery), useQuery(healthQuery)];
  const all = [nodes, shards, bdbs, health];
  const failed = all.find(({ isError }) => isError);
  const [first, ...rest] = troubles;
  if (first) {
    return (
      <div>
        <h1 className={classes.health}>
          <StatusIcon tone={first.tone} size={20} />
          <Line trouble={first} />
        </h1>
        {rest.length > 0 && (
          <ul className={classes.troubles}>
            {rest.map((trouble) => (
              <li key={trouble.text}>
                <StatusIcon tone={trouble.tone} />
                <Line trouble={trouble} />
              </li>
            ))}
          </ul>
        )}
      </div>
    );
  }
  if (failed) {
    return (
      <h1 className={classes.health} role="alert">
        <StatusIcon tone="unknown" size={20} />
        <span>How the cluster is could not be read: {messageOf(failed.error)}</span>
        <Button
          variant="default"
          onClick={() => {
            for (const query of all) if (query.isError) void query.refetch();
          }}
        >
          Try again
        </Button>
      </h1>
    );
  }
  if (!nodes.data || !shards.data || !bdbs.data || !health.data) {
    return <h1 className={classes.health}>Looking …</h1>;
  }
  const known = nodes.data.length > 0 && !stale;
  return (
    <h1 className={classes.health}>
      <StatusIcon tone={known ? 'ok' : 'unknown'} size={20} />
      {stale && BEFORE[stale]}
      {wellSentence(nodes.data, shards.data)}
    </h1>
  );
}

function Line({ trouble: { link, text, since, rest } }: { trouble: Trouble }) {
  return (
    <span>
      <Link {...link}>{text}</Link>
      {since !== undefined && (
        <>
          {' for '}
          <Elapsed since={since} />
        </>
      )}
      {rest?.map((part) => `; ${part}`)}
    </span>
  );
}
