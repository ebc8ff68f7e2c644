/** Comparison page of benchmark runs. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { CompareView } from '@/features/benchmarks/compare/CompareView';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function BenchmarkComparePage() {
  const { uids, baseline, group, column } = useSearch({ from: '/shell/benchmarks/compare' });
  const navigate = useNavigate();
  const numbers = uids.split(',').map(Number).filter(Boolean);
  return (
    <div className={classes.page}>
      <SectionHead section="benchmarks" />
      <CompareView
        choice={{ uids: numbers, baseline, group, column }}
        onChange={(part) =>
          navigate({
            to: '/benchmarks/compare',
            search: { uids, baseline, group, column, ...part },
            replace: true,
          })
        }
      />
    </div>
  );
}
