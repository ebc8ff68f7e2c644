/** Page with all benchmark runs. */
import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { RunTable } from '@/features/benchmarks/RunTable';
import classes from '../pages.module.css';
import { BenchmarkTabs } from './BenchmarkTabs';

export function BenchmarksPage() {
  const navigate = useNavigate();
  const may = usePermission('edit');
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Benchmarks</h1>
        <Button
          disabled={!may}
          title={may ? undefined : ROLE_DENIED_TEXT}
          onClick={() => navigate({ to: '/benchmarks/new' })}
        >
          New run
        </Button>
      </div>
      <BenchmarkTabs />
      <RunTable />
    </div>
  );
}
