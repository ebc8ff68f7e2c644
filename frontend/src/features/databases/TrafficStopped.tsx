/** Somebody stopped the database's traffic: said until it is resumed, here. */
import { Alert, Button } from '@mantine/core';
import { useState } from 'react';
import { resumeTraffic } from '@/api/bdbs';
import { messageOf } from '@/api/http';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import type { Bdb } from '@/api/types';
import classes from './databases.module.css';

export function TrafficStopped({ bdb }: { bdb: Bdb }) {
  const may = useMay('edit');
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string | null>(null);
  const resume = async () => {
    setBusy(true);
    setRefusal(null);
    try {
      await resumeTraffic(bdb.uid);
    } catch (failure) {
      setRefusal(messageOf(failure));
    }
    setBusy(false);
  };
  return (
    <Alert
      className={classes.failed}
      color="yellow"
      title={`The traffic of ${bdb.name} is stopped`}
      role="alert"
    >
      <p className={classes.reason}>
        No client can connect. Its data stays, replicas are kept in sync, and failovers go on.
      </p>
      {refusal && <p className={classes.reason}>{refusal}</p>}
      <Button
        variant="default"
        loading={busy}
        disabled={!may || bdb.status !== 'active'}
        title={may ? undefined : ROLE_FORBIDS}
        onClick={resume}
      >
        Resume traffic
      </Button>
    </Alert>
  );
}
