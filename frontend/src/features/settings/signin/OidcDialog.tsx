/** Dialog for the single sign-on provider. When it is saved, the console first checks the provider. */
import {
  ActionIcon,
  Button,
  Checkbox,
  NativeSelect,
  PasswordInput,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { saveOidc } from '@/api/access/sso';
import type { NewOidcSettings, OidcSettings, Role } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PemField } from '../PemField';
import classes from '../settings.module.css';

interface Props {
  /** Null if no provider is configured. */
  stored: OidcSettings | null;
  roles: readonly Role[];
  invalidateAfter: (operation: Promise<unknown>) => Promise<unknown>;
  onClose: () => void;
}

interface Mapping {
  key: number;
  group: string;
  role: string;
}

export function OidcDialog({ stored, roles, invalidateAfter, onClose }: Props) {
  const [enabled, setEnabled] = useState(stored?.enabled ?? true);
  const [text, setText] = useState({
    name: stored?.name ?? 'single sign-on',
    issuer: stored?.issuer ?? '',
    client_id: stored?.client_id ?? '',
    scope: stored?.scope ?? 'openid profile email',
    username_claim: stored?.username_claim ?? 'email',
    groups_claim: stored?.groups_claim ?? 'groups',
    ca: stored?.ca ?? '',
  });
  const [secret, setSecret] = useState('');
  const [isPublic, setPublic] = useState(stored !== null && !stored.has_client_secret);
  const [mappings, setMappings] = useState<Mapping[]>(() =>
    (stored?.roles ?? []).map(({ group, role_uid }, key) => ({ key, group, role: `${role_uid}` })),
  );
  const [defaultRole, setDefaultRole] = useState(`${stored?.default_role_uid ?? ''}`);
  const field = (name: keyof typeof text) => ({
    value: text[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setText({ ...text, [name]: event.currentTarget.value }),
  });
  const choices = roles.map(({ uid, name }) => ({ value: `${uid}`, label: name }));
  const isSame = stored?.issuer === text.issuer && stored.client_id === text.client_id;
  const hasSecret = isPublic || secret !== '' || (isSame && stored.has_client_secret);
  const settings: NewOidcSettings = {
    ...text,
    enabled,
    ...(isPublic ? { client_secret: '' } : secret && { client_secret: secret }),
    roles: mappings
      .filter(({ group }) => group.trim())
      .map(({ group, role }) => ({ group: group.trim(), role_uid: Number(role) })),
    default_role_uid: defaultRole ? Number(defaultRole) : null,
  };
  const redirectUri = stored?.redirect_uri ?? `${location.origin}/v1/session/sso/callback`;
  const change = (key: number, part: Partial<Mapping>) =>
    setMappings(mappings.map((each) => (each.key === key ? { ...each, ...part } : each)));
  const add = () => {
    const key = Math.max(0, ...mappings.map((each) => each.key)) + 1;
    setMappings([...mappings, { key, group: '', role: choices[0]?.value ?? '' }]);
  };
  return (
    <SubmitDialog
      title={stored ? 'Change single sign-on' : 'Set up single sign-on'}
      action="Save"
      size="lg"
      disabled={!text.issuer || !text.client_id || !text.name || !hasSecret}
      onConfirm={() => invalidateAfter(saveOidc(settings))}
      onClose={onClose}
    >
      <Switch
        label="Users can sign in with single sign-on"
        checked={enabled}
        onChange={(event) => setEnabled(event.currentTarget.checked)}
      />
      <TextInput
        label="Issuer"
        description="The issuer URL exactly as the provider publishes it, such as https://login.example.org/realms/main"
        required
        maxLength={1000}
        data-autofocus
        {...field('issuer')}
      />
      <Textarea
        label="Redirect URI"
        description="Register this URI with the provider"
        readOnly
        autosize
        value={redirectUri}
      />
      <TextInput label="Client ID" required maxLength={500} {...field('client_id')} />
      <PasswordInput
        label="Client secret"
        description={
          isSame && stored.has_client_secret ? 'If empty, the current secret is kept' : undefined
        }
        maxLength={1000}
        autoComplete="off"
        disabled={isPublic}
        value={isPublic ? '' : secret}
        onChange={(event) => setSecret(event.currentTarget.value)}
      />
      <Checkbox
        label="No secret: a public client that uses only PKCE"
        checked={isPublic}
        onChange={(event) => setPublic(event.currentTarget.checked)}
      />
      <TextInput
        label="Name"
        description="Shown on the sign-in button: Sign in with …"
        required
        maxLength={64}
        {...field('name')}
      />
      <fieldset className={classes.mappings}>
        <legend>Groups and their roles</legend>
        <span className={classes.help}>
          At every sign-in, the first group of this list that the user belongs to determines the
          role. Without groups and a default role, you set the role of each user in Shardboard.
        </span>
        {mappings.map(({ key, group, role }) => (
          <div key={key} className={classes.mapping}>
            <TextInput
              aria-label="Group"
              placeholder="Group"
              maxLength={500}
              value={group}
              onChange={(event) => change(key, { group: event.currentTarget.value })}
            />
            <NativeSelect
              aria-label={`Role of ${group || 'the group'}`}
              data={choices}
              value={role}
              onChange={(event) => change(key, { role: event.currentTarget.value })}
            />
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={`Remove ${group || 'the group'}`}
              onClick={() => setMappings(mappings.filter((each) => each.key !== key))}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </div>
        ))}
        <Button variant="subtle" size="compact-sm" onClick={add}>
          Add group
        </Button>
        <NativeSelect
          label={mappings.length ? 'Users in none of these groups' : 'All users'}
          data={[
            { value: '', label: mappings.length ? 'Rejected' : 'Role set in Shardboard' },
            ...choices,
          ]}
          value={defaultRole}
          onChange={(event) => setDefaultRole(event.currentTarget.value)}
        />
      </fieldset>
      <details>
        <summary>Claims, scope and certificate</summary>
        <div className={classes.more}>
          <TextInput
            label="Claim with the user name"
            description="The claim that contains the user name in Shardboard, such as email or upn; use one that users cannot choose themselves"
            maxLength={100}
            {...field('username_claim')}
          />
          <TextInput label="Claim with the groups" maxLength={100} {...field('groups_claim')} />
          <TextInput label="Scope" maxLength={500} {...field('scope')} />
          <PemField
            label="CA of the provider’s certificate (PEM)"
            description="Required only if the console’s machine does not trust this CA."
            value={text.ca}
            onChange={(ca) => setText({ ...text, ca })}
          />
        </div>
      </details>
    </SubmitDialog>
  );
}
