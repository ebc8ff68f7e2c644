/** All that somebody who helps from afar wants to see, as one file. */
import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { ROLE_FORBIDS } from '@/api/session';
import { supportBundle } from '@/api/support';
import { download } from '@/lib/download';
import { Card } from '@/ui/Card';
import { Refused } from '@/ui/Refused';
import { useSubmit } from '@/ui/useSubmit';
import classes from './settings.module.css';

export function SupportBundle({ may }: { may: boolean }) {
  const { submit, busy, refusal } = useSubmit(async () => {
    const { name, content } = await supportBundle();
    download(name, content);
  });
  return (
    <div className={classes.form}>
      <Card title="Support bundle">
        <p className={classes.words}>
          One archive for whoever helps you: settings, states, events, the last hour of metrics, and
          the ends of the logs of the console and of every node. Passwords, keys and what databases
          hold are not in it; names and addresses are, so look through it before you give it away.
        </p>
        <Button
          variant="default"
          leftSection={<IconDownload size={14} />}
          loading={busy}
          disabled={!may}
          title={may ? undefined : ROLE_FORBIDS}
          onClick={submit}
        >
          Download
        </Button>
        {busy && <p className={classes.help}>All machines are being asked…</p>}
        <Refused refusal={refusal} />
      </Card>
    </div>
  );
}
