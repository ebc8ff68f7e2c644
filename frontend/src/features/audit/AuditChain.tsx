/** Whether the trail is as it was written, and all of it as a file. */
import { Alert, Button } from '@mantine/core';
import { IconDownload, IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { auditCheckQuery, exportAudit } from '@/api/audit';
import { messageOf } from '@/api/http';
import type { AuditCheck } from '@/api/types';
import { download } from '@/lib/download';
import { plural } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Refused } from '@/ui/Refused';
import { Status } from '@/ui/Status';
import { useSubmit } from '@/ui/useSubmit';
import classes from './audit.module.css';

export function AuditChain() {
  const check = useQuery(auditCheckQuery);
  const { submit, busy, refusal } = useSubmit(async () => {
    const { name, content } = await exportAudit();
    download(name, content);
  });
  return (
    <Card>
      <p className={classes.words}>
        Who changed what from where, who was refused, and who read passwords. Each line is sealed
        together with the one before it, so that one that is changed or removed shows.
      </p>
      <div className={classes.check}>
        <Verdict check={check.data} error={check.error} />
        {check.data && (
          <span className="dim">
            Looked at <Ago time={check.dataUpdatedAt} />
          </span>
        )}
        <span>
          <Button
            variant="default"
            leftSection={<IconRefresh size={14} />}
            loading={check.isFetching}
            onClick={() => check.refetch()}
          >
            Check again
          </Button>
          <Button
            variant="default"
            leftSection={<IconDownload size={14} />}
            loading={busy}
            onClick={submit}
          >
            Download all
          </Button>
        </span>
      </div>
      {check.data && !check.data.whole && <Faults faults={check.data.faults} />}
      <Refused refusal={refusal} />
    </Card>
  );
}

function Verdict({ check, error }: { check: AuditCheck | undefined; error: Error | null }) {
  if (error) return <Status tone="unknown">{messageOf(error)}</Status>;
  if (!check) return <Status tone="progress">Following the chain…</Status>;
  if (!check.whole) return <Status tone="broken">The trail was tampered with</Status>;
  return (
    <Status tone="ok">
      {`Whole: ${plural(check.lines, 'line')}, each as it was written, none removed`}
    </Status>
  );
}

function Faults({ faults }: { faults: readonly string[] }) {
  return (
    <Alert color="red" mt="sm" title="Somebody wrote to the console's store past the console">
      Compare it with a copy that was kept elsewhere, and change whatever lets people into the
      store.
      <ul className={classes.faults}>
        {faults.map((fault) => (
          <li key={fault}>{fault}</li>
        ))}
      </ul>
    </Alert>
  );
}
