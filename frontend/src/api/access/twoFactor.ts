/** API of two-factor authentication with an authenticator app. */
import { queryOptions } from '@tanstack/react-query';
import { request } from '../http';
import type {
  RecoveryCodes,
  SecondFactorCode,
  SecondFactorConfirmation,
  SecondFactorSecret,
} from '../types';

const PATH = '/v1/users/second_factor';

/** Query for a secret for the app. It has no effect until it is confirmed with a code. Each request returns a new secret, which is not cached. */
export const newSecretQuery = queryOptions({
  queryKey: ['second_factor'],
  queryFn: () => request<SecondFactorSecret>('POST', PATH),
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: 0,
});

export const enableSecondFactor = (confirmed: SecondFactorConfirmation) =>
  request<RecoveryCodes>('PUT', PATH, confirmed);

/** Return a secret for a user who must set up an app to sign in. */
export const newSecretAtSignIn = (username: string, password: string) =>
  request<SecondFactorSecret>('POST', '/v1/session/second_factor', { username, password });

export const disableSecondFactor = (proof: SecondFactorCode) =>
  request<unknown>('DELETE', PATH, proof);

/** Turn off two-factor authentication for another user, for example after the loss of the phone. */
export const disableSecondFactorOf = (user: number) =>
  request<unknown>('DELETE', `/v1/users/${user}/second_factor`);
