/** Single sign-on: what the sign-in page offers, and for administrators its provider. */
import { queryOptions } from '@tanstack/react-query';
import { ApiError, request } from './http';
import type { NewOidcSettings, OidcSettings, SsoOffer } from './types';

const PATH = '/v1/cluster/oidc';

/** Asked without being signed in. */
export const offerQuery = queryOptions({
  queryKey: ['sso-offer'],
  queryFn: () => request<SsoOffer>('GET', '/v1/session/sso'),
  retry: false,
});

/** Where the browser goes to sign in. */
export const startPath = (next: string | undefined): string =>
  `/v1/session/sso/start${next ? `?next=${encodeURIComponent(next)}` : ''}`;

/** Null: there is none. */
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
