/** The passwords of another user: another one in place of all, one more, or one less. */
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
  const waits =
    user.status === 'locked' ? ', and nobody has to wait any more after failed attempts' : '';
  const replace: Way = {
    label: 'Only the new one from now on',
    action: 'Set password',
    effect: `All others are void at once: sessions and tokens of this user end${waits}.`,
    typed: 'new',
    order: (password) => then(changeUser(user.uid, { password })),
  };
  const add: Way = {
    label: 'The new one as well, so that programs can change one after the other',
    action: 'Add password',
    effect:
      'Nobody is disturbed. When all programs have the new one, come back and remove the old one.',
    typed: 'new',
    order: (password) => then(addPassword(user.email, password)),
  };
  const remove: Way = {
    label: 'Remove one of them',
    action: 'Remove password',
    effect: 'Sessions and tokens that were begun with it end; those of the others go on.',
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
