/** Page for a new benchmark run. */
import { skipToken, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { benchmarkQuery } from '@/api/benchmarks';
import { NewRun } from '@/features/benchmarks/form/NewRun';
import { PageSkeleton } from '@/ui/Skeletons';
import classes from '../pages.module.css';

export function BenchmarkNewPage() {
  const navigate = useNavigate();
  const { bdb, repeat } = useSearch({ from: '/shell/benchmarks/new' });
  const query = benchmarkQuery(repeat ?? 0);
  const { data, isPending } = useQuery({ ...query, ...(!repeat && { queryFn: skipToken }) });
  if (repeat && isPending) return <PageSkeleton />;
  return (
    <div className={classes.page}>
      <h1>New run</h1>
      {repeat && !data && <p>Run {repeat} was not found. It may have been deleted.</p>}
      <NewRun
        key={repeat}
        bdb={bdb}
        repeated={data}
        onStarted={({ uid }) => navigate({ to: '/benchmarks/$uid', params: { uid: String(uid) } })}
      />
    </div>
  );
}
