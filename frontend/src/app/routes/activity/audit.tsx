/** Audit page: check and records of the audit log. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { usePermission } from '@/api/access/session';
import { AuditChain } from '@/features/audit/AuditChain';
import { AuditLog } from '@/features/audit/AuditLog';
import { EmptyState } from '@/ui/EmptyState';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function AuditPage() {
  const filter = useSearch({ from: '/shell/activity/audit' });
  const navigate = useNavigate({ from: '/activity/audit' });
  if (!usePermission('administer')) {
    return (
      <EmptyState title="You cannot view the audit log">
        <span>Only administrators can view the audit log.</span>
      </EmptyState>
    );
  }
  return (
    <div className={classes.page}>
      <SectionHead section="activity" />
      <AuditChain />
      <AuditLog
        filter={filter}
        onFilter={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
      />
    </div>
  );
}
