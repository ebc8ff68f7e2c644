/** Dialog for the single sign-on provider. When it is saved, the console first checks the provider. */
import { Checkbox, Switch, Textarea, TextInput } from '@mantine/core';
import { oidcQuery, saveOidc, ssoStatusQuery } from '@/api/access/sso';
import type { OidcSettings, Role } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { FormDialog } from '@/ui/forms/FormDialog';
import { MoreFields } from '@/ui/forms/MoreFields';
import { PemField } from '@/ui/forms/PemField';
import { SecretField } from '@/ui/forms/SecretField';
import { type Form, useForm } from '@/ui/forms/useForm';
import { GroupRoleFields } from './GroupRoleFields';
import { keepsSecret, type OidcValues, oidcRequest, oidcValues } from './oidcForm';

interface Props {
  /** Null if no provider is configured. */
  stored: OidcSettings | null;
  roles: readonly Role[];
  onClose: () => void;
}

export function OidcDialog({ stored, roles, onClose }: Props) {
  const form = useForm(() => oidcValues(stored));
  const invalidateAfter = useInvalidateAfter(oidcQuery, ssoStatusQuery);
  return (
    <FormDialog
      title={stored ? 'Change single sign-on' : 'Set up single sign-on'}
      size="lg"
      request={oidcRequest(form.values, stored)}
      onSubmit={(settings) => invalidateAfter(saveOidc(settings))}
      onClose={onClose}
    >
      <Switch label="Users can sign in with single sign-on" {...form.check('enabled')} />
      <ClientFields
        form={form}
        redirectUri={stored?.redirect_uri ?? `${location.origin}/v1/session/sso/callback`}
        isSecretKept={keepsSecret(form.values, stored)}
      />
      <GroupRoleFields form={form} roles={roles} />
      <RareFields form={form} />
    </FormDialog>
  );
}

interface FieldsProps {
  form: Form<OidcValues>;
}

interface ClientProps extends FieldsProps {
  redirectUri: string;
  isSecretKept: boolean;
}

function ClientFields({ form, redirectUri, isSecretKept }: ClientProps) {
  const { isPublic } = form.values;
  return (
    <>
      <TextInput
        label="Issuer"
        description="The issuer URL exactly as the provider publishes it, such as https://login.example.org/realms/main"
        required
        maxLength={1000}
        data-autofocus
        {...form.text('issuer')}
      />
      <Textarea
        label="Redirect URI"
        description="Register this URI with the provider"
        readOnly
        autosize
        value={redirectUri}
      />
      <TextInput label="Client ID" required maxLength={500} {...form.text('client_id')} />
      <SecretField
        label="Client secret"
        noun="secret"
        isKept={isSecretKept}
        disabled={isPublic}
        {...form.text('client_secret')}
        {...(isPublic && { value: '' })}
      />
      <Checkbox
        label="No secret: a public client that uses only PKCE"
        {...form.check('isPublic')}
      />
      <TextInput
        label="Name"
        description="Shown on the sign-in button: Sign in with …"
        required
        maxLength={64}
        {...form.text('name')}
      />
    </>
  );
}

function RareFields({ form }: FieldsProps) {
  return (
    <MoreFields summary="Claims, scope, and certificate">
      <TextInput
        label="Claim with the username"
        description="The claim that contains the username in Shardboard, such as email or upn; use one that users cannot choose themselves"
        maxLength={100}
        {...form.text('username_claim')}
      />
      <TextInput label="Claim with the groups" maxLength={100} {...form.text('groups_claim')} />
      <TextInput label="Scope" maxLength={500} {...form.text('scope')} />
      <PemField
        label="CA of the provider’s certificate (PEM)"
        description="Required only if the console’s machine does not trust this CA."
        {...form.value('ca')}
      />
    </MoreFields>
  );
}
