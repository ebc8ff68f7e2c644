import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { clearUserData, sessionQuery } from './session';
import { ssoStatusQuery } from './sso';

it('clears the data of the user, but keeps data of the sign-in page', () => {
  const client = new QueryClient();
  client.setQueryData(['bdbs'], []);
  client.setQueryData(ssoStatusQuery.queryKey, { name: 'Example' });
  clearUserData(client);
  expect(client.getQueryData(['bdbs'])).toBeUndefined();
  expect(client.getQueryData(sessionQuery.queryKey)).toBeUndefined();
  expect(client.getQueryData(ssoStatusQuery.queryKey)).toEqual({ name: 'Example' });
});
