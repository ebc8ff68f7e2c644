/** Single sign-on with OpenID Connect: the provider and the roles of its groups. */
import { Alert, Button, Group, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { rolesQuery } from '@/api/access/roles';
import { oidcQuery, removeOidc, ssoStatusQuery } from '@/api/access/sso';
import { messageOf } from '@/api/http';
import type { OidcSettings, Role } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { Card } from '@/ui/Card';
import { CopyInline } from '@/ui/Copy';
import { Facts } from '@/ui/Facts';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import classes from '../settings.module.css';
import { OidcDialog } from './OidcDialog';

export function SingleSignOn() {
  const { data, error } = useQuery(oidcQuery);
  const roles = useQuery(rolesQuery).data;
  const [dialog, setDialog] = useState<'set' | 'remove'>();
  const close = () => setDialog(undefined);
  const invalidateAfter = useInvalidateAfter(oidcQuery, ssoStatusQuery);
  return (
    <div className={classes.form}>
      <Card title="Single sign-on">
        <p className={classes.intro}>
          Users sign in with an account of an OpenID Connect provider, and groups at the provider
          determine their roles. Users with a password can still sign in, and at least one of them
          stays an administrator in case the provider is unavailable.
        </p>
        {error && data === undefined && <Alert color="red">{messageOf(error)}</Alert>}
        {data === undefined && !error && <Skeleton height={80} />}
        {data && <ProviderFacts provider={data} roles={roles ?? []} />}
        <Group gap="xs" mt="sm">
          <Button variant="default" disabled={data === undefined} onClick={() => setDialog('set')}>
            {data ? 'Edit single sign-on…' : 'Set up single sign-on…'}
          </Button>
          {data && (
            <Button variant="default" onClick={() => setDialog('remove')}>
              Remove single sign-on…
            </Button>
          )}
        </Group>
      </Card>
      {dialog === 'set' && roles && (
        <OidcDialog stored={data ?? null} roles={roles} onClose={close} />
      )}
      {dialog === 'remove' && data && (
        <ConfirmByTyping
          title="Remove single sign-on?"
          warning="All users of single sign-on are signed out and can no longer sign in. They stay in the list of users."
          name={data.name ?? ''}
          action="Remove single sign-on"
          onConfirm={() => invalidateAfter(removeOidc())}
          onClose={close}
        />
      )}
    </div>
  );
}

function ProviderFacts({ provider, roles }: { provider: OidcSettings; roles: readonly Role[] }) {
  const nameOf = (uid: number) => roles.find((role) => role.uid === uid)?.name ?? `role ${uid}`;
  const mappings =
    provider.roles?.map(({ group, role_uid }) => `${group}: ${nameOf(role_uid)}`) ?? [];
  const other = provider.default_role_uid;
  return (
    <Facts
      items={[
        ['State', provider.enabled ? 'On' : 'Off: users cannot sign in with single sign-on'],
        ['Button', `Sign in with ${provider.name}`],
        ['Issuer', provider.issuer],
        ['Client ID', provider.client_id],
        [
          'Redirect URI',
          <CopyInline key="back" text={provider.redirect_uri} label="Copy redirect URI" />,
        ],
        [
          'Roles',
          mappings.length || other
            ? [...mappings, `others: ${other ? nameOf(other) : 'rejected'}`].join('; ')
            : 'Set in Shardboard for users who are added before they sign in',
        ],
      ]}
    />
  );
}
