/** Notice about stopped traffic, with a button to resume it. */
import { Alert } from '@mantine/core';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { resumeTraffic } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import classes from '../databases.module.css';

export function TrafficStopped({ bdb }: { bdb: Bdb }) {
  const may = usePermission('edit');
  const resume = useSubmit(() => resumeTraffic(bdb.uid));
  return (
    <Alert
      className={classes.failed}
      color="yellow"
      title={`Traffic to ${bdb.name} is stopped`}
      role="alert"
    >
      <p className={classes.reason}>
        Clients cannot connect. The data is kept, replicas stay in sync, and failovers still take
        place.
      </p>
      {resume.failure && <p className={classes.reason}>{resume.failure.text}</p>}
      <SubmitButton
        variant="default"
        loading={resume.busy}
        disabled={!may || bdb.status !== 'active'}
        title={may ? undefined : ROLE_DENIED_TEXT}
        onClick={resume.submit}
      >
        Resume traffic
      </SubmitButton>
    </Alert>
  );
}
