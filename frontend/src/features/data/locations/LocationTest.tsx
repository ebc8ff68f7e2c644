/** Button that tests a storage location, with the result of each check. */
import { useEffect, useRef, useState } from 'react';
import type { LocationCheck, LocationChecks } from '@/api/types';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { Status } from '@/ui/Status';
import classes from '../data.module.css';

const CHECKS: Record<string, string> = {
  connect: 'Connect',
  write: 'Write a file',
  read: 'Read the file',
  list: 'List files',
  delete: 'Delete the file',
};

interface Props {
  onTest: () => Promise<LocationChecks>;
  disabled?: boolean;
}

export function LocationTest({ onTest, disabled = false }: Props) {
  const [checks, setChecks] = useState<readonly LocationCheck[] | null>(null);
  const { submit, busy, failure } = useSubmit(async () => {
    setChecks(null);
    setChecks((await onTest()).checks);
  });
  // The dialog is often longer than the screen, and the button is at its end.
  const shown = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the result changes
  useEffect(() => {
    // It returns a promise in new browsers, which must not become the clean-up function.
    void shown.current?.scrollIntoView({ block: 'nearest' });
  }, [checks, failure]);
  return (
    <div className={classes.test} ref={shown}>
      <SubmitButton variant="default" loading={busy} disabled={disabled} onClick={() => submit()}>
        Test location
      </SubmitButton>
      <div role="status">{checks && <CheckList checks={checks} />}</div>
      <RequestError failure={failure} />
    </div>
  );
}

function CheckList({ checks }: { checks: readonly LocationCheck[] }) {
  return (
    <ul className={classes.checks} aria-label="Checks">
      {checks.map(({ name, ok, error }) => (
        <li key={name}>
          <Status tone={ok ? 'ok' : 'broken'}>{CHECKS[name] ?? name}</Status>
          <span className="sr-only">{ok ? ': passed' : ': failed'}</span>
          {error && <span className={classes.checkError}>{error}</span>}
        </li>
      ))}
    </ul>
  );
}
