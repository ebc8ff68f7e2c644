/** Cluster status as a heading: one sentence, or the worst problem. "Healthy" requires complete and current data. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { healthQuery } from '@/api/alerting/health';
import { nodesQuery } from '@/api/cluster/nodes';
import { bdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import { messageOf } from '@/api/http';
import { Elapsed } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import classes from './overview.module.css';
import { healthyText, type Problem } from './problems';

/** Text before the status if the data is not current. */
const PREFIXES = {
  lost: 'Status when the connection was lost: ',
  late: 'Status as of the newest sample: ',
  partial: 'Some figures are missing. Last known status: ',
  // For a moment after the page is opened, no sample has arrived yet.
  waiting: '',
} as const;

interface Props {
  problems: readonly Problem[];
  /** Why the data is not current: the stream is lost, samples are late or incomplete, or none has arrived yet. */
  stale: keyof typeof PREFIXES | null;
}

export function Health({ problems, stale }: Props) {
  const [nodes, shards] = [useQuery(nodesQuery), useQuery(shardsQuery)];
  const [bdbs, health] = [useQuery(bdbsQuery), useQuery(healthQuery)];
  const all = [nodes, shards, bdbs, health];
  const failed = all.find(({ isError }) => isError);
  const [first] = problems;
  if (first) {
    return (
      <h1 className={classes.health}>
        <StatusIcon tone={first.tone} size={20} />
        <ProblemText problem={first} />
      </h1>
    );
  }
  if (failed) {
    return (
      <h1 className={classes.health} role="alert">
        <StatusIcon tone="unknown" size={20} />
        <span>The cluster status could not be loaded: {messageOf(failed.error)}</span>
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
    return <h1 className={classes.health}>Checking the cluster…</h1>;
  }
  const isCurrent = nodes.data.length > 0 && !stale;
  return (
    <h1 className={classes.health}>
      <StatusIcon tone={isCurrent ? 'ok' : 'unknown'} size={20} />
      {stale && PREFIXES[stale]}
      {healthyText(nodes.data, shards.data)}
    </h1>
  );
}

export function ProblemText({
  problem: { link, text, since, consequences },
}: {
  problem: Problem;
}) {
  return (
    <span>
      <Link {...link}>{text}</Link>
      {since !== undefined && (
        <>
          {' for '}
          <Elapsed since={since} />
        </>
      )}
      {consequences && consequences.length > 0 && (
        <small className={classes.consequences}> {consequences.join('; ')}</small>
      )}
    </span>
  );
}
