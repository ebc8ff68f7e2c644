/** Dialog to replace all passwords of another user, or to add or remove one. */
import { useMay } from '@/api/session';
import type { User } from '@/api/types';
import { addPassword, changeUser, removePassword } from '@/api/users';
import { Passwords, type Way } from '@/ui/Passwords';
import { PasswordField } from './PasswordField';
import { useThenAskAgain } from './useThenAskAgain';

export function NewPassword({ user, onClose }: { user: User; onClose: () => void }) {
  const then = useThenAskAgain();
  const may = useMay('administer');
  const count = user.passwords_count;
  const waits = user.status === 'locked' ? ', and so does the delay after failed sign-ins' : '';
  const replace: Way = {
    label: 'Replace all passwords with the new one',
    action: 'Set password',
    effect: `All other passwords become invalid immediately. Sessions and tokens of this user end${waits}.`,
    typed: 'new',
    order: (password) => then(changeUser(user.uid, { password })),
  };
  const add: Way = {
    label: 'Add the new password, so that you can update programs one after the other',
    action: 'Add password',
    effect:
      'Existing sessions and tokens keep working. Update all programs, then remove the old password.',
    typed: 'new',
    order: (password) => then(addPassword(user.email, password)),
  };
  const remove: Way = {
    label: 'Remove one password',
    action: 'Remove password',
    effect: 'Sessions and tokens that were created with this password end. Others stay valid.',
    typed: 'old',
    order: (password) => then(removePassword(user.email, password)),
  };
  return (
    <Passwords
      title={`Passwords of ${user.email}`}
      count={count}
      ways={[replace, ...(may ? [add] : []), ...(may && count > 1 ? [remove] : [])]}
      field={(password, onChange) => (
        <PasswordField label="New password" value={password} onChange={onChange} autoFocus />
      )}
      onClose={onClose}
    />
  );
}
