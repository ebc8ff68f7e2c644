/** A dead shard that nobody can stand in for is started again only when told, after saying what is lost. */
import { Button } from '@mantine/core';
import { IconPlayerPlay } from '@tabler/icons-react';
import { useState } from 'react';
import { ApiError } from '@/api/http';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import { restartShard } from '@/api/shards';
import { ConfirmByTyping } from '@/ui/ConfirmByTyping';
import { Refused } from '@/ui/Refused';
import { useSubmit } from '@/ui/useSubmit';
import classes from './placement.module.css';

interface Question {
  loss: string;
  empty: boolean;
}

/** Without persistence the console wants to hear that an empty start is meant. */
async function ask(shard: string): Promise<Question> {
  const of = async (empty: boolean) => ({
    loss: (await restartShard(shard, { dry_run: true, discard_data: empty })).description,
    empty,
  });
  try {
    return await of(false);
  } catch (failure) {
    if (failure instanceof ApiError && failure.code === 'data_would_be_lost') return of(true);
    throw failure;
  }
}

export function StartAgain({ shard }: { shard: string }) {
  const [question, setQuestion] = useState<Question | null>(null);
  const may = useMay('administer');
  const open = useSubmit(async () => setQuestion(await ask(shard)));
  const words = `shard ${shard}`;
  return (
    <div>
      <Button
        variant="default"
        leftSection={<IconPlayerPlay size={14} />}
        disabled={!may}
        loading={open.busy}
        title={may ? undefined : ROLE_FORBIDS}
        onClick={open.submit}
      >
        Start again…
      </Button>
      <Refused refusal={open.refusal} className={classes.refused} />
      {question && (
        <ConfirmByTyping
          title={`Start redis:${shard} again?`}
          warning={question.loss}
          name={words}
          action={question.empty ? 'Start empty' : 'Start again'}
          onConfirm={() => restartShard(shard, { confirm: words, discard_data: question.empty })}
          onClose={() => setQuestion(null)}
        />
      )}
    </div>
  );
}
