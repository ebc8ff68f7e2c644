/** Labels of management roles, and rules for changing users. */
import { isCustom } from '@/api/access/roles';
import type { NewUser, Role, Session, User } from '@/api/types';

export type Management = NonNullable<NewUser['role']>;

export const ROLES: readonly { value: string; label: string; description: string }[] = [
  { value: 'admin', label: 'Administrator', description: 'All permissions' },
  {
    value: 'cluster_member',
    label: 'Cluster member',
    description: 'Create, change, and delete databases; view the cluster',
  },
  {
    value: 'db_member',
    label: 'Database member',
    description: 'Create, change, and delete databases',
  },
  {
    value: 'cluster_viewer',
    label: 'Cluster viewer',
    description: 'View the cluster with its events; no changes',
  },
  {
    value: 'db_viewer',
    label: 'Database viewer',
    description: 'View databases and metrics, but no events; no changes',
  },
  {
    value: 'user_manager',
    label: 'User manager',
    description:
      'Add, change, and delete users; grant only permissions that user managers have; view the cluster with its events',
  },
  { value: 'none', label: 'No access', description: 'No permissions in the console' },
];

/** Return whether a role with this management role can be limited to some databases. */
export const isLimitable = (management: string): boolean =>
  management === 'db_member' || management === 'db_viewer';

/** Return the uids of the databases that a role is limited to; empty if it applies to all databases. */
export const databaseUidsOf = ({ resources }: Pick<Role, 'resources'>): number[] =>
  resources.flatMap(({ uids }) => uids);

export const roleLabel = (role: string): string =>
  ROLES.find(({ value }) => value === role)?.label ?? role;

/** The management roles that other roles than the administrator can assign: those whose permissions they have. */
const ASSIGNABLE: Record<string, readonly string[]> = {
  user_manager: ['user_manager', 'cluster_viewer', 'db_viewer', 'none'],
};

const canAssign = (manager: Session | undefined, management: string): boolean =>
  manager?.role === 'admin' || (ASSIGNABLE[manager?.role ?? '']?.includes(management) ?? false);

/** Return the management roles that this manager can assign. */
export const rolesFor = (manager: Session | undefined) =>
  ROLES.filter(({ value }) => canAssign(manager, value));

/** Return the custom roles that this manager can assign. The server also checks their access to data. */
export const customRolesFor = (manager: Session | undefined, roles: readonly Role[]) =>
  roles
    .filter(({ management }) => canAssign(manager, management))
    .map(({ uid, name, management, ...role }) => ({
      value: String(uid),
      label: name,
      description: `Console: ${roleLabel(management)}${databaseUidsOf(role).length ? ' for some databases' : ''}. Data: as configured for each database`,
    }));

/** Return the form value for a user's role: a management role, or the uid of a custom role. */
export const roleFormValue = ({ role, role_uids: [uid] }: User): string =>
  uid !== undefined && isCustom({ uid }) ? String(uid) : role;

/** Return the request fields for a form value. Uses the uid if the role has one; otherwise a custom role with the same management role but fewer databases would stay assigned. */
export function roleFields(chosen: string, roles: readonly Role[]) {
  const builtIn = roles.find((role) => !isCustom(role) && role.management === chosen);
  const uid = builtIn ? builtIn.uid : Number(chosen);
  return uid ? { role_uids: [uid] } : { role: chosen as Management };
}

/** Return the display name of the role of a user or service token. */
export const roleName = (user: Pick<User, 'role' | 'role_uids'>, roles: readonly Role[]): string =>
  roles.find(({ uid }) => isCustom({ uid }) && uid === user.role_uids[0])?.name ??
  roleLabel(user.role);

/** Return why this manager cannot change the user; undefined if the change is allowed. */
export function changeDeniedReason(user: User, manager: Session | undefined): string | undefined {
  if (user.role === 'admin' && manager?.role !== 'admin' && user.uid !== manager?.uid) {
    return 'Only administrators can change administrators';
  }
  return undefined;
}

/** Return why this manager cannot set the password or turn off two-factor authentication of the user; undefined if it is allowed. */
export function credentialsDeniedReason(
  user: User,
  manager: Session | undefined,
): string | undefined {
  return (
    changeDeniedReason(user, manager) ??
    (user.uid === manager?.uid || canAssign(manager, user.role)
      ? undefined
      : 'Only administrators can change how users with this role sign in')
  );
}

/** Return why this manager cannot change the role of the user; undefined if the change is allowed. */
export function roleDeniedReason(
  user: User,
  manager: Session | undefined,
  users: readonly User[],
): string | undefined {
  return (
    lastAdminReason(user, users) ??
    (user.uid === manager?.uid
      ? 'You cannot change your own role. Ask another administrator'
      : undefined)
  );
}

/** Return why this manager cannot remove the user; undefined if the removal is allowed. */
export function removalDeniedReason(
  user: User,
  manager: Session | undefined,
  users: readonly User[],
): string | undefined {
  if (user.uid === manager?.uid)
    return 'You cannot remove your own account. Ask another administrator';
  return changeDeniedReason(user, manager) ?? lastAdminReason(user, users);
}

/** Return why the role of this user cannot change: one administrator with a password must remain, for sign-ins without an external provider. */
export function lastAdminReason(user: User, users: readonly User[]): string | undefined {
  const isLocalAdmin = ({ role, auth_method }: User) =>
    role === 'admin' && auth_method === 'regular';
  return isLocalAdmin(user) && users.filter(isLocalAdmin).length < 2
    ? 'This is the last administrator with a password. Make another user an administrator first'
    : undefined;
}
