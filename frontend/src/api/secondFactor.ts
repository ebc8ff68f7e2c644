/** The second factor: an app's code besides the password. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { ConfirmedFactor, FactorProof, FactorSecret, RecoveryCodes } from './types';

const PATH = '/v1/users/second_factor';

/** For the app; it has no effect until it comes back with a code. Never the same twice, and not kept. */
export const newSecretQuery = queryOptions({
  queryKey: ['second_factor'],
  queryFn: () => request<FactorSecret>('POST', PATH),
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: 0,
});

export const switchOn = (confirmed: ConfirmedFactor) =>
  request<RecoveryCodes>('PUT', PATH, confirmed);

/** For the app of somebody who may not sign in without one. */
export const newSecretAtSignIn = (username: string, password: string) =>
  request<FactorSecret>('POST', '/v1/session/second_factor', { username, password });

export const switchOff = (proof: FactorProof) => request<unknown>('DELETE', PATH, proof);

/** Of a user who has lost the phone. */
export const switchOffOf = (user: number) =>
  request<unknown>('DELETE', `/v1/users/${user}/second_factor`);
