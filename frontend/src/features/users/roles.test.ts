import { describe, expect, it } from 'vitest';
import type { Session, User } from '@/api/types';
import { changeFault, lastAdminFault, removalFault, roleLabel, rolesFor } from './roles';

const user = (uid: number, role: string) => ({ uid, role, email: `${uid}@example.org` }) as User;
const by = (uid: number, role: string) => ({ uid, role }) as Session;

describe('rolesFor', () => {
  it('lets only administrators make administrators', () => {
    const given = (role: string) => rolesFor(by(1, role)).map(({ value }) => value);
    expect(given('admin')).toContain('admin');
    expect(given('user_manager')).not.toContain('admin');
    expect(given('user_manager')).toContain('db_member');
  });
});

describe('faults', () => {
  const admin = user(1, 'admin');
  const manager = by(2, 'user_manager');

  it('keeps user managers from administrators, but nobody from himself', () => {
    expect(changeFault(admin, manager)).toMatch(/Only administrators/);
    expect(changeFault(user(2, 'user_manager'), manager)).toBeUndefined();
    expect(changeFault(admin, by(1, 'admin'))).toBeUndefined();
  });

  it('keeps the last administrator', () => {
    expect(lastAdminFault(admin, [admin, user(3, 'none')])).toMatch(/last administrator/);
    expect(lastAdminFault(admin, [admin, user(3, 'admin')])).toBeUndefined();
    expect(lastAdminFault(user(3, 'none'), [admin])).toBeUndefined();
  });

  it('removes nobody who removes', () => {
    expect(removalFault(admin, by(1, 'admin'), [admin])).toMatch(/yourself/);
    expect(removalFault(admin, manager, [admin, user(3, 'admin')])).toMatch(/Only administrators/);
    expect(removalFault(user(3, 'none'), manager, [admin])).toBeUndefined();
  });
});

describe('roleLabel', () => {
  it('shows a role that it does not know as it is', () => {
    expect([roleLabel('db_member'), roleLabel('auditor')]).toEqual(['Database member', 'auditor']);
  });
});
