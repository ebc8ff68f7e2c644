/** The passwords of the default user, of a database that serves. */
import { PasswordInput } from '@mantine/core';
import { addPassword, removePassword, replacePassword, useUpdateBdb } from '@/api/bdbs';
import type { Bdb } from '@/api/types';
import { Passwords, type Way } from '@/ui/Passwords';
import { passwordError } from './validate';

export function DatabasePassword({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const update = useUpdateBdb(bdb.uid);
  const isNeeded = bdb.authentication;
  const replace: Way = {
    label: 'Only the new one from now on',
    action: 'Change the password',
    effect: isNeeded
      ? 'Clients that are logged in stay so; who connects from now on needs the new password.'
      : 'Clients have logged in with nothing so far: all of them need the password from now on.',
    typed: 'new',
    order: (password) => replacePassword(bdb.uid, password),
  };
  const add: Way = {
    label: 'The new one as well, so that applications can change one after the other',
    action: 'Add the password',
    effect:
      'Nobody is disturbed. When all applications have the new one, come back and remove the old one.',
    typed: 'new',
    order: (password) => addPassword(bdb.uid, password),
  };
  const remove: Way = {
    label: 'Remove one of them',
    action: 'Remove the password',
    effect: 'Clients that are logged in by it stay so until they connect again.',
    typed: 'old',
    order: (password) => removePassword(bdb.uid, password),
  };
  const none: Way = {
    label: 'None: whoever reaches the port may use the database',
    action: 'Remove all passwords',
    effect: 'Nobody needs a password from now on.',
    typed: 'nothing',
    order: () => update({ authentication_redis_pass: '' }),
  };
  const others = [add, ...(bdb.passwords_count > 1 ? [remove] : []), none];
  return (
    <Passwords
      title={`Change the password of ${bdb.name}`}
      count={bdb.passwords_count}
      ways={[replace, ...(isNeeded ? others : [])]}
      fault={passwordError}
      field={(password, onChange) => (
        <PasswordInput
          label="New password"
          description="Of the default user, which clients send with AUTH."
          autoComplete="new-password"
          data-autofocus
          value={password}
          error={passwordError(password)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
      onClose={onClose}
    />
  );
}
