/** Fields for the encryption of the backups in a location. */
import { Button, Checkbox, Stack, Switch } from '@mantine/core';
import { useState } from 'react';
import { createBackupKey } from '@/api/data/locations';
import type { NewBackupKey } from '@/api/types';
import { CopyBlock } from '@/ui/Copy';
import { PemField } from '@/ui/forms/PemField';
import { RequestError } from '@/ui/forms/RequestError';
import { useSubmit } from '@/ui/forms/useSubmit';
import { type EncryptionValues, withKey } from './encryptionForm';
import { RecipientsField } from './RecipientsField';

interface Props {
  values: EncryptionValues;
  onChange: (values: EncryptionValues) => void;
  /** Public keys whose private keys are stored. */
  storedKeys?: readonly string[];
}

export function EncryptionFields({ values, onChange, storedKeys = [] }: Props) {
  const set = (changed: Partial<EncryptionValues>) => onChange({ ...values, ...changed });
  return (
    <>
      <Switch
        label="Encrypt backups"
        description="Files are encrypted on the nodes, before they are written to the location."
        checked={values.isOn}
        onChange={(event) => set({ isOn: event.currentTarget.checked })}
      />
      {values.isOn && (
        <>
          <CreateKey onCreated={(key) => onChange(withKey(values, key))} />
          <RecipientsField
            description="One per line, in the age format. The private key of any of them can decrypt new backups."
            required
            value={values.recipients}
            onChange={(recipients) => set({ recipients })}
          />
          <PemField
            label="Private keys to store"
            description="Required for verifications. If none is stored, each restore asks for the private key."
            value={values.identities}
            onChange={(identities) => set({ identities })}
          />
        </>
      )}
      {storedKeys.length > 0 && (
        <Checkbox.Group
          label="Delete stored private keys"
          description="Backups for a deleted key can then only be restored with a copy of the private key."
          value={[...values.deleted]}
          onChange={(deleted) => set({ deleted })}
        >
          <Stack gap={6} mt={6}>
            {storedKeys.map((key) => (
              <Checkbox key={key} value={key} label={`${key.slice(0, 20)}…`} title={key} />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </>
  );
}

function CreateKey({ onCreated }: { onCreated: (key: NewBackupKey) => void }) {
  const [created, setCreated] = useState<NewBackupKey | null>(null);
  const { submit, busy, failure } = useSubmit(async () => {
    const key = await createBackupKey();
    setCreated(key);
    onCreated(key);
  });
  if (created)
    return (
      <div role="status">
        <p>
          Save this private key outside the cluster now. Without it, backups cannot be restored if
          the console is lost.
        </p>
        <CopyBlock text={created.identity} label="Copy private key" />
      </div>
    );
  return (
    <div>
      <Button variant="default" loading={busy} onClick={() => submit()}>
        Create key
      </Button>
      <RequestError failure={failure} />
    </div>
  );
}
