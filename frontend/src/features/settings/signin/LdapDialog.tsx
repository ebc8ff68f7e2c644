/** Dialog for the LDAP settings. When they are saved, the console first checks that the directory responds as configured. */
import {
  Alert,
  Checkbox,
  NativeSelect,
  NumberInput,
  PasswordInput,
  Switch,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { saveLdap } from '@/api/access/ldap';
import type { LdapSettings, NewLdapSettings } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PemField } from '../PemField';
import classes from '../settings.module.css';
import { addresses, isUnencrypted, SCOPES } from './ldapText';

interface Props {
  stored: LdapSettings;
  invalidateAfter: (operation: Promise<unknown>) => Promise<unknown>;
  onClose: () => void;
}

type Query = NonNullable<LdapSettings['user_dn_query']>;

const USER_QUERY: Query = { base: '', filter: '(&(objectClass=inetOrgPerson)(uid=%u))' };
const GROUP_QUERY: Query = { base: '', filter: '(&(objectClass=groupOfNames)(member=%D))' };

export function LdapDialog({ stored, invalidateAfter, onClose }: Props) {
  const isNew = stored.uris.length === 0;
  const [text, setText] = useState({
    uris: stored.uris.join('\n'),
    bind_dn: stored.bind_dn,
    ca_cert: stored.ca_cert,
    user_dn_template: stored.user_dn_template,
    dn_group_attr: stored.dn_group_attr,
  });
  const [enabled, setEnabled] = useState(isNew || stored.control_plane);
  const [starttls, setStarttls] = useState(stored.starttls);
  const [password, setPassword] = useState('');
  const [timeout, setTimeout] = useState<string | number>(stored.directory_timeout_s);
  const [cacheTtl, setCacheTtl] = useState<string | number>(stored.cache_ttl);
  const [bySearch, setBySearch] = useState(!stored.user_dn_template);
  const [userQuery, setUserQuery] = useState(stored.user_dn_query ?? USER_QUERY);
  const [byAttribute, setByAttribute] = useState(stored.dn_group_attr !== '');
  const [groupQuery, setGroupQuery] = useState(stored.dn_group_query ?? GROUP_QUERY);
  const field = (name: keyof typeof text) => ({
    value: text[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setText({ ...text, [name]: event.currentTarget.value }),
  });
  const uris = addresses(text.uris);
  // With another server or a weaker protection, the stored password is not sent: it must be entered again.
  const isSame =
    uris.join() === stored.uris.join() &&
    text.bind_dn === stored.bind_dn &&
    text.ca_cert === stored.ca_cert &&
    starttls === stored.starttls;
  const hasPassword = !text.bind_dn || password !== '' || (isSame && stored.bind_pass !== '');
  const settings: NewLdapSettings = {
    uris,
    starttls,
    control_plane: enabled,
    bind_dn: text.bind_dn,
    ca_cert: text.ca_cert,
    directory_timeout_s: Number(timeout),
    cache_ttl: Number(cacheTtl),
    ...(text.bind_dn ? password && { bind_pass: password } : { bind_pass: '' }),
    ...(bySearch ? { user_dn_query: userQuery } : { user_dn_template: text.user_dn_template }),
    ...(byAttribute ? { dn_group_attr: text.dn_group_attr } : { dn_group_query: groupQuery }),
  };
  const ready =
    uris.length > 0 &&
    hasPassword &&
    timeout !== '' &&
    cacheTtl !== '' &&
    (bySearch ? userQuery.filter : text.user_dn_template) &&
    (byAttribute ? text.dn_group_attr : groupQuery.filter);
  return (
    <SubmitDialog
      title={isNew ? 'Set up LDAP' : 'Change LDAP'}
      action="Save"
      size="lg"
      disabled={!ready}
      onConfirm={() => invalidateAfter(saveLdap(settings))}
      onClose={onClose}
    >
      <Switch
        label="Users can sign in with LDAP"
        checked={enabled}
        onChange={(event) => setEnabled(event.currentTarget.checked)}
      />
      <Textarea
        label="Servers"
        description="One address per line, such as ldaps://ldap.example.org:636; the first server that responds is used"
        required
        autosize
        minRows={2}
        maxRows={5}
        spellCheck={false}
        data-autofocus
        {...field('uris')}
      />
      <Checkbox
        label="StartTLS: encrypt connections to addresses that start with ldap://"
        checked={starttls}
        onChange={(event) => setStarttls(event.currentTarget.checked)}
      />
      {uris.length > 0 && isUnencrypted({ uris, starttls }) && (
        <Alert color="yellow">
          Passwords would be sent to the directory unencrypted and could be read on the network.
        </Alert>
      )}
      <TextInput
        label="Search as"
        description="DN of a directory user with read access to users and groups; if empty, users are searched anonymously and groups as the user"
        placeholder="cn=shardboard,ou=services,dc=example,dc=org"
        maxLength={1000}
        autoComplete="off"
        spellCheck={false}
        {...field('bind_dn')}
      />
      {text.bind_dn && (
        <PasswordInput
          label="Password of the search user"
          description={
            isSame && stored.bind_pass ? 'If empty, the current password is kept' : undefined
          }
          maxLength={1000}
          autoComplete="off"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      )}
      <fieldset className={classes.mappings}>
        <legend>Users</legend>
        <NativeSelect
          label="Find users"
          data={[
            { value: 'search', label: 'By a search' },
            { value: 'template', label: 'By a DN template' },
          ]}
          value={bySearch ? 'search' : 'template'}
          onChange={(event) => setBySearch(event.currentTarget.value === 'search')}
        />
        {bySearch ? (
          <QueryFields
            of="users"
            description="%u is the entered name; for Active Directory: (sAMAccountName=%u)"
            query={userQuery}
            onChange={setUserQuery}
          />
        ) : (
          <TextInput
            className={classes.fullWidth ?? ''}
            label="DN template"
            description="%u is the entered name"
            placeholder="uid=%u,ou=users,dc=example,dc=org"
            maxLength={1000}
            spellCheck={false}
            {...field('user_dn_template')}
          />
        )}
      </fieldset>
      <fieldset className={classes.mappings}>
        <legend>Groups of a user</legend>
        <NativeSelect
          label="Find groups"
          data={[
            { value: 'search', label: 'By a search' },
            { value: 'attribute', label: 'By an attribute of the user' },
          ]}
          value={byAttribute ? 'attribute' : 'search'}
          onChange={(event) => setByAttribute(event.currentTarget.value === 'attribute')}
        />
        {byAttribute ? (
          <TextInput
            label="Attribute"
            placeholder="memberOf"
            maxLength={100}
            spellCheck={false}
            {...field('dn_group_attr')}
          />
        ) : (
          <QueryFields
            of="groups"
            description="%D is the DN of the user; for Active Directory with nested groups: (member:1.2.840.113556.1.4.1941:=%D)"
            query={groupQuery}
            onChange={setGroupQuery}
          />
        )}
      </fieldset>
      <details>
        <summary>Timeouts and certificate</summary>
        <div className={classes.more}>
          <NumberInput
            label="Timeout per server"
            suffix=" s"
            min={5}
            max={60}
            allowDecimal={false}
            value={timeout}
            onChange={setTimeout}
          />
          <NumberInput
            label="Cache correct passwords for"
            description="Applies to programs that send the password with each request; a changed password or a lost group takes effect for them after this time"
            suffix=" s"
            min={0}
            max={86400}
            allowDecimal={false}
            value={cacheTtl}
            onChange={setCacheTtl}
          />
          <PemField
            label="CA of the server certificates (PEM)"
            description="Required only if the console’s machine does not trust this CA. If set, no other CA is trusted."
            value={text.ca_cert}
            onChange={(ca_cert) => setText({ ...text, ca_cert })}
          />
        </div>
      </details>
    </SubmitDialog>
  );
}

interface QueryProps {
  of: string;
  description: string;
  query: Query;
  onChange: (query: Query) => void;
}

function QueryFields({ of, description, query, onChange }: QueryProps) {
  return (
    <>
      <TextInput
        className={classes.fullWidth ?? ''}
        label={`Search base for ${of}`}
        placeholder={`ou=${of},dc=example,dc=org`}
        maxLength={1000}
        spellCheck={false}
        value={query.base}
        onChange={(event) => onChange({ ...query, base: event.currentTarget.value })}
      />
      <NativeSelect
        label={`Search scope for ${of}`}
        data={[...SCOPES]}
        value={query.scope ?? 'subtree'}
        onChange={(event) =>
          onChange({ ...query, scope: event.currentTarget.value as NonNullable<Query['scope']> })
        }
      />
      <TextInput
        className={classes.fullWidth ?? ''}
        label={`Filter for ${of}`}
        description={description}
        maxLength={1000}
        spellCheck={false}
        value={query.filter}
        onChange={(event) => onChange({ ...query, filter: event.currentTarget.value })}
      />
    </>
  );
}
