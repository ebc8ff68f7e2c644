/** Page for a new benchmark run. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { NewRun } from '@/features/benchmarks/NewRun';
import classes from '../pages.module.css';

export function BenchmarkNewPage() {
  const navigate = useNavigate();
  const { bdb } = useSearch({ from: '/shell/benchmarks/new' });
  return (
    <div className={classes.page}>
      <h1>New run</h1>
      <NewRun
        bdb={bdb}
        onStarted={({ uid }) => navigate({ to: '/benchmarks/$uid', params: { uid: String(uid) } })}
      />
    </div>
  );
}
