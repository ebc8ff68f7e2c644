/** Page with the availability of all databases by month. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ClusterAvailability } from '@/features/availability/ClusterAvailability';
import { DEFAULT_TARGET } from '@/features/availability/serviceLevel';
import classes from './pages.module.css';

export function AvailabilityPage() {
  const { month, target = DEFAULT_TARGET } = useSearch({ from: '/shell/availability' });
  const navigate = useNavigate({ from: '/availability' });
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Availability</h1>
      </div>
      <ClusterAvailability
        month={month}
        target={target}
        onChange={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
      />
    </div>
  );
}
