/** Check of the audit chain, and download of the complete audit log. */
import { Alert } from '@mantine/core';
import { IconDownload, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { auditCheckQuery, exportAudit } from '@/api/access/audit';
import { messageOf } from '@/api/http';
import type { AuditCheck } from '@/api/types';
import { download } from '@/lib/download';
import { plural } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { Status } from '@/ui/Status';
import classes from './audit.module.css';

export function AuditChain() {
  const check = useQuery(auditCheckQuery);
  const { submit, busy, failure } = useSubmit(async () => {
    const { name, content } = await exportAudit();
    download(name, content);
  });
  return (
    <Card>
      <p className={classes.intro}>
        The audit log records changes with their user and source address, rejected requests, and
        reads of passwords. Each record is chained to the previous one, so changed or removed
        records are detected.
      </p>
      <div className={classes.check}>
        <Verdict check={check.data} error={check.error} />
        {check.data && (
          <span className="dim">
            Checked <Ago time={check.dataUpdatedAt} />
          </span>
        )}
        <span>
          <SubmitButton
            variant="default"
            leftSection={<IconRefresh size={14} />}
            loading={check.isFetching}
            onClick={() => check.refetch()}
          >
            Check again
          </SubmitButton>
          <SubmitButton
            variant="default"
            leftSection={<IconDownload size={14} />}
            loading={busy}
            onClick={submit}
          >
            Download audit log
          </SubmitButton>
        </span>
      </div>
      {check.data && !check.data.whole && <Faults faults={check.data.faults} />}
      <RequestError failure={failure} />
    </Card>
  );
}

function Verdict({ check, error }: { check: AuditCheck | undefined; error: Error | null }) {
  if (error) return <Status tone="unknown">{messageOf(error)}</Status>;
  if (!check) return <Status tone="progress">Checking the chain…</Status>;
  if (!check.whole) return <Status tone="broken">The audit log was tampered with</Status>;
  return (
    <Status tone="ok">{`Intact: ${plural(check.lines, 'record')}, none changed or removed`}</Status>
  );
}

function Faults({ faults }: { faults: readonly string[] }) {
  return (
    <Alert color="red" mt="sm" title="The store was changed outside the console">
      Compare the audit log with a copy on another system, and revoke access to the store.
      <ul className={classes.faults}>
        {faults.map((error) => (
          <li key={error}>{error}</li>
        ))}
      </ul>
    </Alert>
  );
}
