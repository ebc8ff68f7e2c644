/** Dialog for the LDAP settings. When they are saved, the console first checks that the directory responds as configured. */
import { Alert, Checkbox, NumberInput, Switch, Textarea, TextInput } from '@mantine/core';
import { ldapQuery, saveLdap } from '@/api/access/ldap';
import type { LdapSettings } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { FormDialog } from '@/ui/forms/FormDialog';
import { MoreFields } from '@/ui/forms/MoreFields';
import { PemField } from '@/ui/forms/PemField';
import { SecretField } from '@/ui/forms/SecretField';
import { type Form, useForm } from '@/ui/forms/useForm';
import { LdapGroupFields, LdapUserFields } from './LdapLookupFields';
import { isUnset, keepsPassword, type LdapValues, ldapRequest, ldapValues } from './ldapForm';
import { addresses, isUnencrypted } from './ldapText';

interface Props {
  stored: LdapSettings;
  onClose: () => void;
}

export function LdapDialog({ stored, onClose }: Props) {
  const form = useForm(() => ldapValues(stored));
  const invalidateAfter = useInvalidateAfter(ldapQuery);
  return (
    <FormDialog
      title={isUnset(stored) ? 'Set up LDAP' : 'Change LDAP'}
      size="lg"
      request={ldapRequest(form.values, stored)}
      onSubmit={(settings) => invalidateAfter(saveLdap(settings))}
      onClose={onClose}
    >
      <ServerFields form={form} />
      <SearchUserFields form={form} isPasswordKept={keepsPassword(form.values, stored)} />
      <LdapUserFields form={form} />
      <LdapGroupFields form={form} />
      <RareFields form={form} />
    </FormDialog>
  );
}

interface FieldsProps {
  form: Form<LdapValues>;
}

function ServerFields({ form }: FieldsProps) {
  const uris = addresses(form.values.uris);
  return (
    <>
      <Switch label="Users can sign in with LDAP" {...form.check('control_plane')} />
      <Textarea
        label="Servers"
        description="One address per line, such as ldaps://ldap.example.org:636; the first server that responds is used"
        required
        autosize
        minRows={2}
        maxRows={5}
        spellCheck={false}
        data-autofocus
        {...form.text('uris')}
      />
      <Checkbox
        label="StartTLS: encrypt connections to addresses that start with ldap://"
        {...form.check('starttls')}
      />
      {isUnencrypted({ uris, starttls: form.values.starttls }) && (
        <Alert color="yellow">
          Passwords would be sent to the directory unencrypted and could be read on the network.
        </Alert>
      )}
    </>
  );
}

function SearchUserFields({ form, isPasswordKept }: FieldsProps & { isPasswordKept: boolean }) {
  return (
    <>
      <TextInput
        label="Search as"
        description="DN of a directory user with read access to users and groups; if empty, users are searched anonymously and groups as the user"
        placeholder="cn=shardboard,ou=services,dc=example,dc=org"
        maxLength={1000}
        autoComplete="off"
        spellCheck={false}
        {...form.text('bind_dn')}
      />
      {form.values.bind_dn && (
        <SecretField
          label="Password of the search user"
          noun="password"
          isKept={isPasswordKept}
          {...form.text('bind_pass')}
        />
      )}
    </>
  );
}

function RareFields({ form }: FieldsProps) {
  return (
    <MoreFields summary="Timeouts and certificate">
      <NumberInput
        label="Timeout per server"
        suffix=" s"
        min={5}
        max={60}
        allowDecimal={false}
        {...form.value('directory_timeout_s')}
      />
      <NumberInput
        label="Cache correct passwords for"
        description="Applies to programs that send the password with each request; a changed password or a lost group takes effect for them after this time"
        suffix=" s"
        min={0}
        max={86400}
        allowDecimal={false}
        {...form.value('cache_ttl')}
      />
      <PemField
        label="CA of the server certificates (PEM)"
        description="Required only if the console’s machine does not trust this CA. If set, no other CA is trusted."
        {...form.value('ca_cert')}
      />
    </MoreFields>
  );
}
