/** Page with all benchmark runs. */
import { Button } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { RunTable } from '@/features/benchmarks/RunTable';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function BenchmarksPage() {
  const navigate = useNavigate();
  const may = usePermission('edit');
  return (
    <div className={classes.page}>
      <SectionHead section="benchmarks">
        <Button
          disabled={!may}
          title={may ? undefined : ROLE_DENIED_TEXT}
          onClick={() => navigate({ to: '/benchmarks/new' })}
        >
          New run
        </Button>
      </SectionHead>
      <RunTable />
    </div>
  );
}
