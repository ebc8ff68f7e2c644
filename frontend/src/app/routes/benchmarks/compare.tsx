/** Comparison page of benchmark runs. */
import { useSearch } from '@tanstack/react-router';
import { CompareView } from '@/features/benchmarks/CompareView';
import classes from '../pages.module.css';

export function BenchmarkComparePage() {
  const { uids } = useSearch({ from: '/shell/benchmarks/compare' });
  return (
    <div className={classes.page}>
      <h1>Compare runs</h1>
      <CompareView uids={uids.split(',').map(Number).filter(Boolean)} />
    </div>
  );
}
