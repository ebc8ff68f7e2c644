import { describe, expect, it } from 'vitest';
import type { Role, Session, User } from '@/api/types';
import {
  changeDeniedReason,
  credentialsDeniedReason,
  customRolesFor,
  lastAdminReason,
  removalDeniedReason,
  roleDeniedReason,
  roleFields,
  roleFormValue,
  roleLabel,
  roleName,
  rolesFor,
} from './roles';

const user = (uid: number, role: string) =>
  ({ uid, role, email: `${uid}@example.org`, auth_method: 'regular' }) as User;
const by = (uid: number, role: string) => ({ uid, role }) as Session;

const readers: Role = { uid: 17, name: 'cache readers', management: 'none', resources: [] };
const chiefs: Role = { uid: 18, name: 'chiefs', management: 'admin', resources: [] };
const withRole = (role: string, uid?: number) =>
  ({ role, role_uids: uid === undefined ? [] : [uid] }) as User;

describe('custom roles', () => {
  it('are identified by uid, built-in roles by name', () => {
    expect(roleFormValue(withRole('none', 17))).toBe('17');
    expect(roleFormValue(withRole('db_viewer', 5))).toBe('db_viewer');
    expect(roleFormValue(withRole('user_manager'))).toBe('user_manager');
    const builtIn: Role = { uid: 5, name: 'DB Viewer', management: 'db_viewer', resources: [] };
    const own: Role = { ...builtIn, uid: 18, resources: [{ type: 'db', uids: [1] }] };
    expect(roleFields('17', [builtIn, own])).toEqual({ role_uids: [17] });
    expect(roleFields('db_viewer', [own, builtIn])).toEqual({ role_uids: [5] });
    expect(roleFields('user_manager', [builtIn, own])).toEqual({ role: 'user_manager' });
  });

  it('are shown with their names', () => {
    expect(roleName(withRole('none', 17), [readers])).toBe('cache readers');
    expect(roleName(withRole('none', 6), [readers])).toBe('No access');
  });

  it('with permissions that the manager does not have cannot be assigned', () => {
    const members: Role = { uid: 19, name: 'members', management: 'db_member', resources: [] };
    const values = (role: string) =>
      customRolesFor({ role } as Session, [readers, chiefs, members]).map(({ label }) => label);
    expect(values('admin')).toEqual(['cache readers', 'chiefs', 'members']);
    expect(values('user_manager')).toEqual(['cache readers']);
  });
});

describe('rolesFor', () => {
  it('lets managers assign only roles whose permissions they have', () => {
    const values = (role: string) => rolesFor(by(1, role)).map(({ value }) => value);
    expect(values('admin')).toContain('admin');
    expect(values('user_manager').toSorted()).toEqual([
      'cluster_viewer',
      'db_viewer',
      'none',
      'user_manager',
    ]);
    expect(values('db_member')).toEqual([]);
  });
});

describe('faults', () => {
  const admin = user(1, 'admin');
  const manager = by(2, 'user_manager');

  it('does not let user managers change administrators, but lets them change their own account', () => {
    expect(changeDeniedReason(admin, manager)).toMatch(/Only administrators/);
    expect(changeDeniedReason(user(2, 'user_manager'), manager)).toBeUndefined();
    expect(changeDeniedReason(admin, by(1, 'admin'))).toBeUndefined();
  });

  it('does not let the last administrator with a password lose the role', () => {
    expect(lastAdminReason(admin, [admin, user(3, 'none')])).toMatch(/last administrator/);
    const ssoAdmin: User = { ...user(4, 'admin'), auth_method: 'sso' };
    expect(lastAdminReason(admin, [admin, ssoAdmin])).toMatch(/with a password/);
    expect(lastAdminReason(ssoAdmin, [admin, ssoAdmin])).toBeUndefined();
    expect(lastAdminReason(admin, [admin, user(3, 'admin')])).toBeUndefined();
    expect(lastAdminReason(user(3, 'none'), [admin])).toBeUndefined();
  });

  it('does not let user managers take over users with more permissions', () => {
    expect(credentialsDeniedReason(user(3, 'db_member'), manager)).toMatch(/Only administrators/);
    expect(credentialsDeniedReason(user(3, 'db_viewer'), manager)).toBeUndefined();
    expect(credentialsDeniedReason(user(3, 'db_member'), by(1, 'admin'))).toBeUndefined();
    expect(credentialsDeniedReason(admin, manager)).toMatch(/Only administrators/);
  });

  it('does not let users change their own role', () => {
    const users = [admin, user(2, 'user_manager'), user(3, 'admin')];
    expect(roleDeniedReason(user(2, 'user_manager'), manager, users)).toMatch(/your own role/);
    expect(roleDeniedReason(admin, by(1, 'admin'), users)).toMatch(/your own role/);
    expect(roleDeniedReason(admin, by(1, 'admin'), [admin])).toMatch(/last administrator/);
    expect(roleDeniedReason(user(4, 'none'), manager, users)).toBeUndefined();
  });

  it('does not let users remove their own account', () => {
    expect(removalDeniedReason(admin, by(1, 'admin'), [admin])).toMatch(/your own account/);
    expect(removalDeniedReason(admin, manager, [admin, user(3, 'admin')])).toMatch(
      /Only administrators/,
    );
    expect(removalDeniedReason(user(3, 'none'), manager, [admin])).toBeUndefined();
  });
});

describe('roleLabel', () => {
  it('returns the value of an unknown role', () => {
    expect([roleLabel('db_member'), roleLabel('auditor')]).toEqual(['Database member', 'auditor']);
  });
});
