/** Dialog that searches a location for backups that the console does not know, such as those of a lost cluster. */
import { Button, Group, Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import { backupsQuery } from '@/api/data/backups';
import { findBackups } from '@/api/data/locations';
import type { BackupLocation, FoundBackups } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { Status } from '@/ui/Status';
import classes from '../data.module.css';
import { foundText } from './locationText';

interface Props {
  location: BackupLocation;
  onClose: () => void;
}

export function FindBackups({ location, onClose }: Props) {
  const [found, setFound] = useState<FoundBackups | null>(null);
  const invalidateAfter = useInvalidateAfter(backupsQuery);
  const { submit, busy, failure } = useSubmit(async () => {
    setFound(await invalidateAfter(findBackups(location.uid)));
  });
  return (
    <Modal opened onClose={onClose} title={`Find backups in ${location.name}`} centered>
      <Stack gap="sm">
        <span>
          Adds the backups in this location that are not listed yet, for example those of another
          cluster. You can then restore them. Retention rules do not delete them.
        </span>
        <div role="status">{found && <Result found={found} />}</div>
        <RequestError failure={failure} />
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <SubmitButton loading={busy} data-autofocus onClick={() => submit()}>
            Find backups
          </SubmitButton>
        </Group>
      </Stack>
    </Modal>
  );
}

function Result({ found }: { found: FoundBackups }) {
  return (
    <>
      <Status tone="ok">{foundText(found)}</Status>
      {found.invalid.length > 0 && (
        <ul className={classes.notes} aria-label="Unusable folders">
          {found.invalid.map(({ path, error }) => (
            <li key={path}>
              {path}: {error}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
