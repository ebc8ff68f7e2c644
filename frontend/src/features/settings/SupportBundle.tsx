/** Download of the support bundle, one archive for remote diagnosis. */
import { IconDownload } from '@tabler/icons-react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import { supportBundle } from '@/api/cluster/supportBundle';
import { download } from '@/lib/download';
import { Card } from '@/ui/Card';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import classes from './settings.module.css';

export function SupportBundle({ may }: { may: boolean }) {
  const { submit, busy, failure } = useSubmit(async () => {
    const { name, content } = await supportBundle();
    download(name, content);
  });
  return (
    <div className={classes.form}>
      <Card title="Support bundle">
        <p className={classes.intro}>
          A support bundle is an archive that you can send to your support contact. It contains
          settings, states, events, the metrics of the last hour, and the most recent log lines of
          the console and of every node. It does not contain passwords, keys, or the data of
          databases. Names and addresses are included, so check the archive before you share it.
        </p>
        <SubmitButton
          variant="default"
          leftSection={<IconDownload size={14} />}
          loading={busy}
          disabled={!may}
          title={may ? undefined : ROLE_DENIED_TEXT}
          onClick={submit}
        >
          Download support bundle
        </SubmitButton>
        {busy && <p className={classes.help}>Collecting data from all machines…</p>}
        <RequestError failure={failure} />
      </Card>
    </div>
  );
}
