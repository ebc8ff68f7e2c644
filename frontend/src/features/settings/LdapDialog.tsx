/** The directory that people sign in by, as it is set. Saving asks it first whether it does what is set here. */
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
import { saveLdap } from '@/api/ldap';
import type { LdapSettings, NewLdapSettings } from '@/api/types';
import { Ask } from '@/ui/Ask';
import { addresses, isInClear, SCOPES } from './ldapWords';
import { PemField } from './PemField';
import classes from './settings.module.css';

interface Props {
  before: LdapSettings;
  then: (ordered: Promise<unknown>) => Promise<unknown>;
  onClose: () => void;
}

type Query = NonNullable<LdapSettings['user_dn_query']>;

const PERSON: Query = { base: '', filter: '(&(objectClass=inetOrgPerson)(uid=%u))' };
const GROUP: Query = { base: '', filter: '(&(objectClass=groupOfNames)(member=%D))' };

export function LdapDialog({ before, then, onClose }: Props) {
  const isNew = before.uris.length === 0;
  const [text, setText] = useState({
    uris: before.uris.join('\n'),
    bind_dn: before.bind_dn,
    ca_cert: before.ca_cert,
    user_dn_template: before.user_dn_template,
    dn_group_attr: before.dn_group_attr,
  });
  const [enabled, setEnabled] = useState(isNew || before.control_plane);
  const [starttls, setStarttls] = useState(before.starttls);
  const [password, setPassword] = useState('');
  const [timeout, setTimeout] = useState<string | number>(before.directory_timeout_s);
  const [remembered, setRemembered] = useState<string | number>(before.cache_ttl);
  const [bySearch, setBySearch] = useState(!before.user_dn_template);
  const [person, setPerson] = useState(before.user_dn_query ?? PERSON);
  const [byAttribute, setByAttribute] = useState(before.dn_group_attr !== '');
  const [group, setGroup] = useState(before.dn_group_query ?? GROUP);
  const field = (name: keyof typeof text) => ({
    value: text[name],
    onChange: (event: { currentTarget: { value: string } }) =>
      setText({ ...text, [name]: event.currentTarget.value }),
  });
  const uris = addresses(text.uris);
  // To another server, or less well guarded, the password is not sent without being typed again.
  const isSame =
    uris.join() === before.uris.join() &&
    text.bind_dn === before.bind_dn &&
    text.ca_cert === before.ca_cert &&
    starttls === before.starttls;
  const hasPassword = !text.bind_dn || password !== '' || (isSame && before.bind_pass !== '');
  const wanted: NewLdapSettings = {
    uris,
    starttls,
    control_plane: enabled,
    bind_dn: text.bind_dn,
    ca_cert: text.ca_cert,
    directory_timeout_s: Number(timeout),
    cache_ttl: Number(remembered),
    ...(text.bind_dn ? password && { bind_pass: password } : { bind_pass: '' }),
    ...(bySearch ? { user_dn_query: person } : { user_dn_template: text.user_dn_template }),
    ...(byAttribute ? { dn_group_attr: text.dn_group_attr } : { dn_group_query: group }),
  };
  const ready =
    uris.length > 0 &&
    hasPassword &&
    timeout !== '' &&
    remembered !== '' &&
    (bySearch ? person.filter : text.user_dn_template) &&
    (byAttribute ? text.dn_group_attr : group.filter);
  return (
    <Ask
      title={isNew ? 'Set up LDAP' : 'Change LDAP'}
      action="Save"
      size="lg"
      disabled={!ready}
      onConfirm={() => then(saveLdap(wanted))}
      onClose={onClose}
    >
      <Switch
        label="People can sign in by it"
        checked={enabled}
        onChange={(event) => setEnabled(event.currentTarget.checked)}
      />
      <Textarea
        label="Servers"
        description="ldaps://ldap.example.org:636, one a line; the first that answers counts"
        required
        autosize
        minRows={2}
        maxRows={5}
        spellCheck={false}
        data-autofocus
        {...field('uris')}
      />
      <Checkbox
        label="StartTLS: encrypt connections to addresses that begin with ldap://"
        checked={starttls}
        onChange={(event) => setStarttls(event.currentTarget.checked)}
      />
      {uris.length > 0 && isInClear({ uris, starttls }) && (
        <Alert color="yellow">
          Passwords would go to the directory in clear: who is on the way can read them.
        </Alert>
      )}
      <TextInput
        label="Search as"
        description="DN of a user who may read people and groups, and needs no other right; empty: as nobody"
        placeholder="cn=shardboard,ou=services,dc=example,dc=org"
        maxLength={1000}
        autoComplete="off"
        spellCheck={false}
        {...field('bind_dn')}
      />
      {text.bind_dn && (
        <PasswordInput
          label="Password of that user"
          description={isSame && before.bind_pass ? 'Left empty, it stays as it is' : undefined}
          maxLength={1000}
          autoComplete="off"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
      )}
      <fieldset className={classes.mappings}>
        <legend>Whose name it is</legend>
        <NativeSelect
          label="People are found"
          data={[
            { value: 'search', label: 'By a search' },
            { value: 'template', label: 'By their DN, which has the name in it' },
          ]}
          value={bySearch ? 'search' : 'template'}
          onChange={(event) => setBySearch(event.currentTarget.value === 'search')}
        />
        {bySearch ? (
          <QueryFields
            of="people"
            description="%u is the name that was typed; Active Directory: (sAMAccountName=%u)"
            query={person}
            onChange={setPerson}
          />
        ) : (
          <TextInput
            className={classes.whole ?? ''}
            label="DN of a person"
            description="%u is the name that was typed"
            placeholder="uid=%u,ou=people,dc=example,dc=org"
            maxLength={1000}
            spellCheck={false}
            {...field('user_dn_template')}
          />
        )}
      </fieldset>
      <fieldset className={classes.mappings}>
        <legend>Groups of a person</legend>
        <NativeSelect
          label="Groups are found"
          data={[
            { value: 'search', label: 'By a search' },
            { value: 'attribute', label: 'By an attribute of the person' },
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
            description="%D is the DN of the person; Active Directory, groups within groups as well: (member:1.2.840.113556.1.4.1941:=%D)"
            query={group}
            onChange={setGroup}
          />
        )}
      </fieldset>
      <details>
        <summary>Times and certificate</summary>
        <div className={classes.more}>
          <NumberInput
            label="A server has to answer within"
            suffix=" s"
            min={5}
            max={60}
            allowDecimal={false}
            value={timeout}
            onChange={setTimeout}
          />
          <NumberInput
            label="A password that was right is not asked about again for"
            description="Of programs that send it with every call. As long a changed password, or a lost group, may go unnoticed by them"
            suffix=" s"
            min={0}
            max={86400}
            allowDecimal={false}
            value={remembered}
            onChange={setRemembered}
          />
          <PemField
            label="Authority of the servers’ certificates (PEM)"
            description="Only where it is none that this machine trusts. With one, no other is trusted."
            value={text.ca_cert}
            onChange={(ca_cert) => setText({ ...text, ca_cert })}
          />
        </div>
      </details>
    </Ask>
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
        className={classes.whole ?? ''}
        label={`Below which entry ${of} are`}
        placeholder={`ou=${of},dc=example,dc=org`}
        maxLength={1000}
        spellCheck={false}
        value={query.base}
        onChange={(event) => onChange({ ...query, base: event.currentTarget.value })}
      />
      <NativeSelect
        label={`Which entries are ${of}`}
        data={[...SCOPES]}
        value={query.scope ?? 'subtree'}
        onChange={(event) =>
          onChange({ ...query, scope: event.currentTarget.value as NonNullable<Query['scope']> })
        }
      />
      <TextInput
        className={classes.whole ?? ''}
        label={`Filter of ${of}`}
        description={description}
        maxLength={1000}
        spellCheck={false}
        value={query.filter}
        onChange={(event) => onChange({ ...query, filter: event.currentTarget.value })}
      />
    </>
  );
}
