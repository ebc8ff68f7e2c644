/** Management roles in words, and who may change whom. */
import { isOwn } from '@/api/access';
import type { NewUser, Role, Session, User } from '@/api/types';

export type Management = NonNullable<NewUser['role']>;

export const ROLES: readonly { value: string; label: string; what: string }[] = [
  { value: 'admin', label: 'Administrator', what: 'Everything' },
  {
    value: 'cluster_member',
    label: 'Cluster member',
    what: 'Creates, changes and deletes databases; sees the whole cluster',
  },
  {
    value: 'db_member',
    label: 'Database member',
    what: 'Creates, changes and deletes databases',
  },
  {
    value: 'cluster_viewer',
    label: 'Cluster viewer',
    what: 'Sees the whole cluster with its events; changes nothing',
  },
  {
    value: 'db_viewer',
    label: 'Database viewer',
    what: 'Sees databases and metrics, no events; changes nothing',
  },
  {
    value: 'user_manager',
    label: 'User manager',
    what: 'Adds, changes and removes users other than administrators; sees the rest',
  },
  { value: 'none', label: 'No access', what: 'May do nothing in this console' },
];

/** Whether users of such a role may see some databases only. */
export const mayBeLimited = (management: string): boolean =>
  management === 'db_member' || management === 'db_viewer';

/** Numbers of the databases that it reaches; none: all. */
export const reachOf = ({ resources }: Pick<Role, 'resources'>): number[] =>
  resources.flatMap(({ uids }) => uids);

export const roleLabel = (role: string): string =>
  ROLES.find(({ value }) => value === role)?.label ?? role;

/** What a manager may give: only administrators make administrators. */
export const rolesFor = (manager: Session | undefined) =>
  ROLES.filter(({ value }) => value !== 'admin' || manager?.role === 'admin');

/** The same for roles of the cluster's own. */
export const ownRolesFor = (manager: Session | undefined, roles: readonly Role[]) =>
  roles
    .filter(({ management }) => management !== 'admin' || manager?.role === 'admin')
    .map(({ uid, name, management, ...role }) => ({
      value: String(uid),
      label: name,
      what: `In the console: ${roleLabel(management)}${reachOf(role).length ? ', of some databases' : ''}. At data: what databases let this role do`,
    }));

/** What a form keeps of a user's role: a management role, or the number of a role of the cluster's own. */
export const roleChosen = ({ role, role_uids: [uid] }: User): string =>
  uid !== undefined && isOwn({ uid }) ? String(uid) : role;

/** The same as the console wants it: by number where there is one, or a role of the same kind that reaches less would stay. */
export function roleGiven(chosen: string, roles: readonly Role[]) {
  const builtIn = roles.find((role) => !isOwn(role) && role.management === chosen);
  const uid = builtIn ? builtIn.uid : Number(chosen);
  return uid ? { role_uids: [uid] } : { role: chosen as Management };
}

/** Of a user or a service token, in words. */
export const roleName = (user: Pick<User, 'role' | 'role_uids'>, roles: readonly Role[]): string =>
  roles.find(({ uid }) => isOwn({ uid }) && uid === user.role_uids[0])?.name ??
  roleLabel(user.role);

/** Why this user cannot be changed by this manager; undefined when nothing stands against it. */
export function changeFault(user: User, manager: Session | undefined): string | undefined {
  if (user.role === 'admin' && manager?.role !== 'admin' && user.uid !== manager?.uid) {
    return 'Only administrators change administrators';
  }
  return undefined;
}

/** Why this user cannot be removed. */
export function removalFault(
  user: User,
  manager: Session | undefined,
  users: readonly User[],
): string | undefined {
  if (user.uid === manager?.uid) return 'You cannot remove yourself; another administrator can';
  return changeFault(user, manager) ?? lastAdminFault(user, users);
}

/** Why the role of this user stays as it is: whom another vouches for cannot sign in without it. */
export function lastAdminFault(user: User, users: readonly User[]): string | undefined {
  const isOne = ({ role, auth_method }: User) => role === 'admin' && auth_method === 'regular';
  return isOne(user) && users.filter(isOne).length < 2
    ? 'This is the last administrator with a password; make another user one first'
    : undefined;
}
