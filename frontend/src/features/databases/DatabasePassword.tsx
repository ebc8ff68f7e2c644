/** Dialog for the passwords of the default user of an existing database. */
import { PasswordInput } from '@mantine/core';
import { addPassword, removePassword, replacePassword, useUpdateBdb } from '@/api/bdbs';
import type { Bdb } from '@/api/types';
import { Passwords, type Way } from '@/ui/Passwords';
import { passwordError } from './validate';

export function DatabasePassword({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const update = useUpdateBdb(bdb.uid);
  const isRequired = bdb.authentication;
  const replace: Way = {
    label: 'Only the new password',
    action: 'Change password',
    effect: isRequired
      ? 'Authenticated clients stay connected. New connections require the new password.'
      : 'All clients, including connected ones, must authenticate before their next command.',
    typed: 'new',
    order: (password) => replacePassword(bdb.uid, password),
  };
  const add: Way = {
    label: 'The new password in addition, so that you can update applications one by one',
    action: 'Add password',
    effect:
      'Existing connections keep working. Update all applications, then remove the old password.',
    typed: 'new',
    order: (password) => addPassword(bdb.uid, password),
  };
  const remove: Way = {
    label: 'Remove one password',
    action: 'Remove password',
    effect: 'Clients that authenticated with it stay connected. New connections cannot use it.',
    typed: 'old',
    order: (password) => removePassword(bdb.uid, password),
  };
  const none: Way = {
    label: 'None: anyone who can reach the port can use the database',
    action: 'Remove all passwords',
    effect: 'Clients no longer need a password.',
    typed: 'nothing',
    order: () => update({ authentication_redis_pass: '' }),
  };
  const others = [add, ...(bdb.passwords_count > 1 ? [remove] : []), none];
  return (
    <Passwords
      title={`Change the password of ${bdb.name}`}
      count={bdb.passwords_count}
      ways={[replace, ...(isRequired ? others : [])]}
      fault={passwordError}
      field={(password, onChange) => (
        <PasswordInput
          label="New password"
          description="Password of the default user. Clients send it with AUTH."
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
