/** The password of the default user, of a database that serves. */
import { PasswordInput, Switch } from '@mantine/core';
import { useState } from 'react';
import { useUpdateBdb } from '@/api/bdbs';
import type { Bdb } from '@/api/types';
import { Ask } from '@/ui/Ask';
import { passwordError } from './validate';

export function DatabasePassword({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const update = useUpdateBdb(bdb.uid);
  const [password, setPassword] = useState('');
  const [none, setNone] = useState(false);
  const fault = passwordError(password);
  return (
    <Ask
      title={`Change the password of ${bdb.name}`}
      action={none ? 'Remove the password' : 'Change the password'}
      disabled={none ? !bdb.authentication : !password || fault !== undefined}
      onConfirm={() => update({ authentication_redis_pass: none ? '' : password })}
      onClose={onClose}
    >
      <PasswordInput
        label="New password"
        description="Of the default user, which clients send with AUTH."
        autoComplete="new-password"
        data-autofocus
        disabled={none}
        value={password}
        error={fault}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {bdb.authentication && (
        <Switch
          label="No password: whoever reaches the port may use the database"
          checked={none}
          onChange={(event) => setNone(event.currentTarget.checked)}
        />
      )}
      <span>
        {bdb.authentication
          ? 'Clients that are logged in stay so; who connects from now on needs the new password.'
          : 'Clients have logged in with nothing so far: all of them need the password from now on.'}
      </span>
    </Ask>
  );
}
