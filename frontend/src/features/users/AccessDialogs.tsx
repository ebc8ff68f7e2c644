/** The questions before a role or a list of rules is added, changed or removed. */
import { MultiSelect, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { removeAcl, removeRole, saveAcl, saveRole } from '@/api/access';
import { bdbsQuery } from '@/api/bdbs';
import { sessionQuery } from '@/api/session';
import type { Acl, Role } from '@/api/types';
import { Ask } from '@/ui/Ask';
import { type Management, mayBeLimited, reachOf, rolesFor } from './roles';
import { useThenAskAgain } from './useThenAskAgain';

interface Closing {
  onClose: () => void;
}

/** Without a role: a new one. */
export function EditRole({ role, onClose }: Closing & { role?: Role }) {
  const then = useThenAskAgain();
  const manager = useQuery(sessionQuery).data;
  const [name, setName] = useState(role?.name ?? '');
  const [management, setManagement] = useState(role?.management ?? 'none');
  const [bdbs, setBdbs] = useState(() => (role ? reachOf(role).map(String) : []));
  const [reach, setReach] = useState(bdbs.length ? 'some' : 'all');
  const isLimited = mayBeLimited(management) && reach === 'some';
  const resources = isLimited ? [{ type: 'db' as const, uids: bdbs.map(Number) }] : [];
  return (
    <Ask
      title={role ? `Change the role ${role.name}` : 'Add role'}
      action={role ? 'Save' : 'Add role'}
      disabled={!name.trim() || (isLimited && !bdbs.length)}
      onConfirm={() =>
        then(saveRole(role?.uid, { name, management: management as Management, resources }))
      }
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Such as cache writers"
        required
        maxLength={120}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <NativeSelect
        label="In the console"
        description="What its users may do here; no access for those who only use data"
        data={rolesFor(manager).map(({ value, label }) => ({ value, label }))}
        value={management}
        onChange={(event) => setManagement(event.currentTarget.value)}
      />
      {mayBeLimited(management) && (
        <NativeSelect
          label="Reaches"
          data={[
            { value: 'all', label: 'All databases' },
            { value: 'some', label: 'Only these databases' },
          ]}
          value={reach}
          onChange={(event) => setReach(event.currentTarget.value)}
        />
      )}
      {isLimited && <Databases chosen={bdbs} onChange={setBdbs} />}
      <span>
        Which data its users may use, each database says: <em>Change access…</em> on its
        Configuration tab.
      </span>
    </Ask>
  );
}

/** Those that a role reaches; one that is gone can be taken away, and not be chosen again. */
function Databases(props: { chosen: string[]; onChange: (uids: string[]) => void }) {
  const { data: bdbs = [] } = useQuery(bdbsQuery);
  const known = bdbs.map(({ uid, name }) => ({ value: String(uid), label: name }));
  const gone = props.chosen
    .filter((uid) => !known.some(({ value }) => value === uid))
    .map((uid) => ({ value: uid, label: `database ${uid}, removed` }));
  return (
    <MultiSelect
      label="Databases"
      description="Its users see and change no others, and create none"
      placeholder={props.chosen.length ? undefined : 'Choose some'}
      data={[...known, ...gone]}
      value={props.chosen}
      onChange={props.onChange}
      searchable
      clearable
      hidePickedOptions
    />
  );
}

export function RemoveRole({ role, onClose }: Closing & { role: Role }) {
  const then = useThenAskAgain();
  return (
    <Ask
      title={`Remove the role ${role.name}?`}
      action="Remove role"
      onConfirm={() => then(removeRole(role.uid))}
      onClose={onClose}
    >
      <span>Users who have it, and databases that let it in, must be changed first.</span>
    </Ask>
  );
}

/** Without a list: a new one. */
export function EditAcl({ acl, onClose }: Closing & { acl?: Acl }) {
  const then = useThenAskAgain();
  const [name, setName] = useState(acl?.name ?? '');
  const [rules, setRules] = useState(acl?.acl ?? '');
  return (
    <Ask
      title={acl ? `Change the rules ${acl.name}` : 'Add rules'}
      action={acl ? 'Save' : 'Add rules'}
      disabled={!name.trim() || !rules.trim()}
      onConfirm={() => then(saveAcl(acl?.uid, { name, acl: rules }))}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        maxLength={120}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Textarea
        label="Rules"
        description="Commands +get or -get, groups of them +@read, keys ~cache:*, channels &news:*. Later ones count more."
        required
        autosize
        minRows={2}
        maxLength={4096}
        value={rules}
        onChange={(event) => setRules(event.currentTarget.value)}
      />
      <span>
        {acl && 'Every database that uses them follows within seconds. '}
        Whatever they say, the administration of engines (@admin) stays this console's.
      </span>
    </Ask>
  );
}

export function RemoveAcl({ acl, onClose }: Closing & { acl: Acl }) {
  const then = useThenAskAgain();
  return (
    <Ask
      title={`Remove the rules ${acl.name}?`}
      action="Remove rules"
      onConfirm={() => then(removeAcl(acl.uid))}
      onClose={onClose}
    >
      <span>Databases that use them must be changed first.</span>
    </Ask>
  );
}
