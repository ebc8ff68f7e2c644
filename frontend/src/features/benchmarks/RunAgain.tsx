/** Buttons that repeat a run that has ended: at once, or with changed settings. */
import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { startBenchmark } from '@/api/benchmarks';
import { ApiError } from '@/api/http';
import type { Benchmark } from '@/api/types';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import classes from './benchmarks.module.css';
import { draftOf } from './form/repeatedRun';
import { benchmarkRequest } from './form/runDraft';

/** Whether the console requires an agreement, which the form offers. */
const isAgreementRequired = (error: unknown) => error instanceof ApiError && error.status === 409;

export function RunAgain({ run }: { run: Benchmark }) {
  const navigate = useNavigate();
  const openForm = { to: '/benchmarks/new', search: { repeat: run.uid } } as const;
  const again = useSubmit(async () => {
    try {
      const { uid } = await startBenchmark(benchmarkRequest(draftOf(run)));
      await navigate({ to: '/benchmarks/$uid', params: { uid: String(uid) } });
    } catch (error) {
      if (!isAgreementRequired(error)) throw error;
      await navigate(openForm);
    }
  });
  return (
    <>
      <SubmitButton
        variant="default"
        loading={again.busy}
        title="Start a run with the same settings"
        onClick={again.submit}
      >
        Run again
      </SubmitButton>
      <Button
        variant="default"
        title="Open the form with the settings of this run"
        renderRoot={(props) => <Link {...openForm} {...props} />}
      >
        Run with changes…
      </Button>
      {again.failure && (
        <span className={classes.dim} role="alert">
          {again.failure.text}
        </span>
      )}
    </>
  );
}
