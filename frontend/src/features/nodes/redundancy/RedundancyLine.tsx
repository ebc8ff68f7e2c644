/** One line about the loss of a node or zone, with a link to the card that explains it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { usePermission } from '@/api/access/session';
import { redundancyQuery } from '@/api/cluster/redundancy';
import { StatusIcon } from '@/ui/Status';
import classes from '../nodes.module.css';
import { lineOf } from './redundancyRows';

interface Props {
  /** Changes when nodes or shards change, so that the line is updated before the next poll. */
  version: string;
}

export function RedundancyLine({ version }: Props) {
  const client = useQueryClient();
  const { data } = useQuery({ ...redundancyQuery, enabled: usePermission('seeAll') });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is a reason to fetch
  useEffect(() => {
    void client.invalidateQueries({ queryKey: redundancyQuery.queryKey }, { cancelRefetch: false });
  }, [version, client]);
  const line = data && lineOf(data);
  if (!line) return null;
  return (
    <Link to="/nodes" className={classes.redundancyLine} title={line.detail}>
      <StatusIcon tone={line.tone} />
      <span>{line.text}</span>
    </Link>
  );
}
