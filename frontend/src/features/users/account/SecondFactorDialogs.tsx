/** Dialogs to turn two-factor authentication with an authenticator app on and off. */
import { Alert, Button, Group, Modal, PasswordInput, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { sessionQuery } from '@/api/access/session';
import {
  disableSecondFactor,
  disableSecondFactorOf,
  enableSecondFactor,
  newSecretQuery,
} from '@/api/access/twoFactor';
import { messageOf } from '@/api/http';
import type { User } from '@/api/types';
import { AuthenticatorSecret, CodeField, RecoveryCodeList } from '@/ui/forms/AuthenticatorApp';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { useInvalidateUsers } from '../useInvalidateUsers';

interface CloseProps {
  onClose: () => void;
}

interface EnableProps extends CloseProps {
  /** Whether an existing authenticator app is replaced. */
  replaces?: boolean;
  onDone: (codes: readonly string[]) => void;
}

/** For the signed-in user, with any role. */
export function EnableSecondFactor({ replaces = false, onDone, onClose }: EnableProps) {
  const client = useQueryClient();
  const { data, error } = useQuery(newSecretQuery);
  const [code, setCode] = useState('');
  const [currentCode, setCurrentCode] = useState('');
  const [password, setPassword] = useState('');
  const confirm = async () => {
    if (!data) return;
    try {
      const { recovery_codes } = await enableSecondFactor({
        password,
        secret: data.secret,
        code,
        ...(replaces && { present_code: currentCode }),
      });
      onDone(recovery_codes);
    } finally {
      // If the request was refused, another session may have turned it on in the meantime.
      await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
    }
  };
  if (error) {
    return (
      <Modal opened onClose={onClose} title="Two-factor authentication" centered>
        <Alert color="red">{messageOf(error)}</Alert>
      </Modal>
    );
  }
  return (
    <SubmitDialog
      title={replaces ? 'Change authenticator app' : 'Turn on two-factor authentication'}
      action={replaces ? 'Change app' : 'Turn on'}
      disabled={!data || !code.trim() || !password || (replaces && !currentCode.trim())}
      onConfirm={confirm}
      onClose={onClose}
    >
      <span>
        {replaces
          ? 'Signing in then requires a code from the new app. Codes from the previous app and the current recovery codes become invalid.'
          : 'Signing in then requires a code from an authenticator app in addition to your password. Programs that use your name and password are rejected: give them service tokens.'}
      </span>
      <span>1. Scan this QR code with your authenticator app:</span>
      <AuthenticatorSecret secret={data} />
      <CodeField label="2. Code from the app" value={code} onChange={setCode} />
      {replaces && <PresentField value={currentCode} onChange={setCurrentCode} />}
      <OwnPasswordField value={password} onChange={setPassword} />
    </SubmitDialog>
  );
}

/** Shows the recovery codes once, after two-factor authentication was turned on. */
export function RecoveryCodes({ codes, onClose }: CloseProps & { codes: readonly string[] }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title="Two-factor authentication is on"
      centered
      closeOnClickOutside={false}
    >
      <Stack gap="sm">
        <RecoveryCodeList codes={codes} />
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** For the signed-in user. */
export function DisableSecondFactor({ onClose }: CloseProps) {
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  const [currentCode, setCurrentCode] = useState('');
  const confirm = async () => {
    await disableSecondFactor({ password, present_code: currentCode });
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  return (
    <SubmitDialog
      title="Turn off two-factor authentication?"
      action="Turn off"
      severe
      disabled={!password || !currentCode.trim()}
      onConfirm={confirm}
      onClose={onClose}
    >
      <span>Signing in then requires only your password. The recovery codes become invalid.</span>
      <OwnPasswordField value={password} onChange={setPassword} autoFocus />
      <PresentField value={currentCode} onChange={setCurrentCode} />
    </SubmitDialog>
  );
}

/** For a user who has lost the phone and the recovery codes. */
export function DisableSecondFactorOf({ user, onClose }: CloseProps & { user: User }) {
  const invalidateAfter = useInvalidateUsers();
  return (
    <SubmitDialog
      title={`Turn off two-factor authentication of ${user.email}?`}
      action="Turn off"
      severe
      onConfirm={() => invalidateAfter(disableSecondFactorOf(user.uid))}
      onClose={onClose}
    >
      <span>
        The password is then sufficient to sign in or to set up another app. Make sure that the
        request comes from {user.email}.
      </span>
    </SubmitDialog>
  );
}

interface FieldProps {
  value: string;
  onChange: (value: string) => void;
  autoFocus?: boolean;
}

function PresentField(field: FieldProps) {
  return <CodeField name="present_code" label="Current code or a recovery code" {...field} />;
}

function OwnPasswordField({ value, onChange, autoFocus }: FieldProps) {
  return (
    <PasswordInput
      label="Your password"
      autoComplete="current-password"
      required
      withAsterisk={false}
      maxLength={256}
      data-autofocus={autoFocus}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
