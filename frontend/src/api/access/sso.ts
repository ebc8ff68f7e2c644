/** API of single sign-on: its status for the sign-in page, and the provider settings for administrators. */
import { queryOptions } from '@tanstack/react-query';
import { ApiError, request } from '../http';
import type { NewOidcSettings, OidcSettings, SsoStatus } from '../types';

const PATH = '/v1/cluster/oidc';

/** Does not require a session. */
export const ssoStatusQuery = queryOptions({
  queryKey: ['sso-offer'],
  queryFn: () => request<SsoStatus>('GET', '/v1/session/sso'),
  retry: false,
});

/** Return the address at which single sign-on starts. */
export const ssoStartPath = (next: string | undefined): string =>
  `/v1/session/sso/start${next ? `?next=${encodeURIComponent(next)}` : ''}`;

/** Null if single sign-on is not configured. */
export const oidcQuery = queryOptions({
  queryKey: ['oidc'],
  queryFn: async () => {
    try {
      return await request<OidcSettings>('GET', PATH);
    } catch (failure) {
      if (failure instanceof ApiError && failure.status === 404) return null;
      throw failure;
    }
  },
});

export const saveOidc = (settings: NewOidcSettings) => request<OidcSettings>('PUT', PATH, settings);

export const removeOidc = () => request<unknown>('DELETE', PATH);
