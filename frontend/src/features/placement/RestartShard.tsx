/** Button that restarts a failed shard without another copy, after a confirmation that names the data that is lost. */
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { restartShard } from '@/api/databases/shards';
import { ApiError } from '@/api/http';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import classes from './Placement.module.css';

interface Confirmation {
  loss: string;
  empty: boolean;
}

/** Return what a restart would lose. Without persistence, the console accepts only a restart that discards the data. */
async function preview(shard: string): Promise<Confirmation> {
  const withDiscard = async (empty: boolean) => ({
    loss: (await restartShard(shard, { dry_run: true, discard_data: empty })).description,
    empty,
  });
  try {
    return await withDiscard(false);
  } catch (failure) {
    if (failure instanceof ApiError && failure.code === 'data_would_be_lost')
      return withDiscard(true);
    throw failure;
  }
}

export function RestartShard({ shard }: { shard: string }) {
  const [confirmation, setConfirmation] = useState<Confirmation | null>(null);
  const may = usePermission('administer');
  const open = useSubmit(async () => setConfirmation(await preview(shard)));
  const phrase = `shard ${shard}`;
  return (
    <div>
      <SubmitButton
        variant="default"
        leftSection={<IconPlayerPlay size={14} />}
        disabled={!may}
        loading={open.busy}
        title={may ? undefined : ROLE_DENIED_TEXT}
        onClick={open.submit}
      >
        Restart…
      </SubmitButton>
      <RequestError failure={open.failure} className={classes.requestError} />
      {confirmation && (
        <ConfirmByTyping
          title={`Restart redis:${shard}?`}
          warning={confirmation.loss}
          name={phrase}
          action={confirmation.empty ? 'Restart empty' : 'Restart'}
          onConfirm={() =>
            restartShard(shard, { confirm: phrase, discard_data: confirmation.empty })
          }
          onClose={() => setConfirmation(null)}
        />
      )}
    </div>
  );
}
